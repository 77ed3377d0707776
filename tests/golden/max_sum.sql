-- policy: register
-- analyst: alice
SELECT SUM(amount), COUNT(*) FROM orders;

-- charge:
-- table:orders: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- SUM(amount): laplace, l1 1500, l2 1500, scale 3000, error 8987.1968
-- COUNT(*): laplace, l1 5, l2 5, scale 10, error 29.957031
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "orders"."#unit" AS unit, CAST(FLOOR((CASE WHEN "orders"."amount" > 1000.0e0 THEN 1000.0e0 WHEN "orders"."amount" < 0.0e0 THEN 0.0e0 ELSE "orders"."amount" END) * 1024.0e0 + 0.5e0) AS BIGINT) AS v1, ABS(CAST(FLOOR((CASE WHEN "orders"."amount" > 1000.0e0 THEN 1000.0e0 WHEN "orders"."amount" < 0.0e0 THEN 0.0e0 ELSE "orders"."amount" END) * 1024.0e0 + 0.5e0) AS BIGINT)) AS a1
  FROM (SELECT t."member" AS "#unit", t."amount" FROM "orders" t WHERE t."member" IS NOT NULL) "orders"
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, SUM(v1) AS s1, SUM(a1) AS a1, LEAST(CASE WHEN COUNT(*) <= 5 THEN 1024 ELSE CAST(5120 // COUNT(*) AS INTEGER) END, CASE WHEN COALESCE(SUM(a1), 0) <= 1536000 THEN 1024 ELSE CAST(1572864000 // COALESCE(SUM(a1), 0) AS INTEGER) END) AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(s1 * w) AS c1, SUM(n * w) AS c2 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM _cells
-- answer without noise:
-- 59934.2783203125, 113
