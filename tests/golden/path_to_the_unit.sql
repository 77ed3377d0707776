-- policy: register
-- analyst: alice
SELECT product, SUM(quantity * price), COUNT(*) FROM items GROUP BY product;

-- charge:
-- table:items: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- table:orders: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- SUM(quantity * price): laplace, l1 1000, l2 1000, scale 2000, error 5991.4645
-- COUNT(*): laplace, l1 10, l2 10, scale 20, error 59.915039
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "items"."#unit" AS unit, "items"."product" AS k1, CAST(FLOOR((CASE WHEN ((CAST(CASE WHEN "items"."quantity" > 5 THEN 5 WHEN "items"."quantity" < 1 THEN 1 ELSE "items"."quantity" END AS DOUBLE) * CASE WHEN "items"."price" > 20.0e0 THEN 20.0e0 WHEN "items"."price" < 0.0e0 THEN 0.0e0 ELSE "items"."price" END)) > 100.0e0 THEN 100.0e0 WHEN ((CAST(CASE WHEN "items"."quantity" > 5 THEN 5 WHEN "items"."quantity" < 1 THEN 1 ELSE "items"."quantity" END AS DOUBLE) * CASE WHEN "items"."price" > 20.0e0 THEN 20.0e0 WHEN "items"."price" < 0.0e0 THEN 0.0e0 ELSE "items"."price" END)) < 0.0e0 THEN 0.0e0 ELSE ((CAST(CASE WHEN "items"."quantity" > 5 THEN 5 WHEN "items"."quantity" < 1 THEN 1 ELSE "items"."quantity" END AS DOUBLE) * CASE WHEN "items"."price" > 20.0e0 THEN 20.0e0 WHEN "items"."price" < 0.0e0 THEN 0.0e0 ELSE "items"."price" END)) END) * 8192.0e0 + 0.5e0) AS BIGINT) AS v1
  FROM (SELECT o.unit AS "#unit", t."product", t."quantity", t."price" FROM "items" t JOIN (SELECT p."order_id" AS key, MIN(p."member") AS unit FROM "orders" p WHERE p."member" IS NOT NULL AND p."order_id" IS NOT NULL GROUP BY 1) o ON o.key = t."order_id" WHERE o.unit IS NOT NULL) "items"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('ink', 'paper', 'pen') THEN TRUE ELSE FALSE END
),
_groups AS MATERIALIZED (
  SELECT unit, k1, COUNT(*) AS n, SUM(v1) AS s1 FROM _rows GROUP BY unit, k1
),
_weights AS (
  SELECT unit, CASE WHEN SUM(n) <= 10 THEN 1024 ELSE CAST(10240 // SUM(n) AS INTEGER) END AS w FROM _groups GROUP BY unit
),
_weighted AS (
  SELECT k1, SUM(s1 * w) AS c1, SUM(n * w) AS c2 FROM _groups JOIN _weights USING (unit) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- ink, 4343.607421875, 100
-- paper, 4342.45703125, 100
-- pen, 4396.34765625, 100
