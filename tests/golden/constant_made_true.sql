-- policy: register
-- analyst: alice
SELECT status, COUNT(*) FROM orders WHERE placed < DATE '2024-02-01' GROUP BY status;

-- charge:
-- table:orders: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- COUNT(*): laplace, l1 5, l2 5, scale 5, error 14.978516
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "orders"."#unit" AS unit, "orders"."status" AS k1
  FROM (SELECT t."member" AS "#unit", t."placed", f."status" FROM "orders" t JOIN (SELECT t."member" AS unit, MIN(CASE WHEN t."status" IN ('new', 'old') THEN t."status" END) AS "status" FROM "orders" t WHERE t."member" IS NOT NULL GROUP BY 1) f ON f.unit = t."member") "orders"
  WHERE ("orders"."placed" < DATE '2024-02-01')
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('new', 'old') THEN TRUE ELSE FALSE END
),
_per_unit AS (
  SELECT unit, k1, COUNT(*) AS n, CASE WHEN COUNT(*) <= 5 THEN 1024 ELSE CAST(5120 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit, k1
),
_cells AS (
  SELECT k1, SUM(n * w) AS c1 FROM _per_unit GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _cells ON _cells.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- new, 112
-- old, 0
