-- policy: register
-- analyst: alice
SELECT channel, tag, SUM(amount) FROM orders GROUP BY channel, tag;

-- charge:
-- table:orders: epsilon 1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('1')), Threshold(delta=Decimal('1.0E-8'))))
-- unit:member: epsilon 1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('1')), Threshold(delta=Decimal('1.0E-8'))))
-- analyst:alice: epsilon 1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('1')), Threshold(delta=Decimal('1.0E-8'))))
-- error:
-- SUM(amount): laplace, l1 1500, l2 1500, scale 3000, error 8987.1968
-- COUNT(DISTINCT unit): laplace, l1 5, l2 2.236067977, scale 10, error 29.957031
-- threshold: 196.371 units
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "orders"."#unit" AS unit, "orders"."channel" AS k1, "orders"."tag" AS k2, CAST(FLOOR((CASE WHEN "orders"."amount" > 1000.0e0 THEN 1000.0e0 WHEN "orders"."amount" < 0.0e0 THEN 0.0e0 ELSE "orders"."amount" END) * 1024.0e0 + 0.5e0) AS BIGINT) AS v1, ABS(CAST(FLOOR((CASE WHEN "orders"."amount" > 1000.0e0 THEN 1000.0e0 WHEN "orders"."amount" < 0.0e0 THEN 0.0e0 ELSE "orders"."amount" END) * 1024.0e0 + 0.5e0) AS BIGINT)) AS a1
  FROM (SELECT t."member" AS "#unit", t."channel", t."tag", t."amount" FROM "orders" t WHERE t."member" IS NOT NULL) "orders"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE (CASE WHEN k1 IN ('shop', 'web') THEN TRUE ELSE FALSE END OR k1 IS NULL)
),
_groups AS (
  SELECT unit, k1, k2, COUNT(*) AS n, SUM(v1) AS s1, SUM(a1) AS a1 FROM _rows GROUP BY unit, k1, k2
),
_capped AS MATERIALIZED (
  SELECT * FROM _groups
  QUALIFY ROW_NUMBER() OVER (PARTITION BY unit ORDER BY MD5(CONCAT($cap_key, chr(31), CAST(unit AS VARCHAR), chr(31), COALESCE('v' || CAST(k1 AS VARCHAR), 'n'), chr(31), COALESCE('v' || CAST(k2 AS VARCHAR), 'n'))), k1, k2) <= 5
),
_weights AS (
  SELECT unit, LEAST(CASE WHEN SUM(n) <= 5 THEN 1024 ELSE CAST(5120 // SUM(n) AS INTEGER) END, CASE WHEN COALESCE(SUM(a1), 0) <= 1536000 THEN 1024 ELSE CAST(1572864000 // COALESCE(SUM(a1), 0) AS INTEGER) END) AS w FROM _capped GROUP BY unit
),
_cells AS (
  SELECT k1, k2, SUM(s1 * w) AS c1, COUNT(*) * 1024 AS c2 FROM _capped JOIN _weights USING (unit) GROUP BY k1, k2
)
SELECT k1, k2, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM _cells
WHERE c2 >= 3072
ORDER BY k1 NULLS LAST, k2 NULLS LAST
