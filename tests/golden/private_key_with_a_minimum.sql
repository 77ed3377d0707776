-- policy: register
-- analyst: alice
SELECT tag, COUNT(*) FROM orders WHERE amount > 10 GROUP BY tag;

-- charge:
-- table:orders: epsilon 1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('1')), Threshold(delta=Decimal('1.0E-8'))))
-- unit:member: epsilon 1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('1')), Threshold(delta=Decimal('1.0E-8'))))
-- analyst:alice: epsilon 1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('1')), Threshold(delta=Decimal('1.0E-8'))))
-- error:
-- COUNT(*): laplace, l1 5, l2 5, scale 10, error 29.957031
-- COUNT(DISTINCT unit): laplace, l1 2, l2 1.414213562, scale 4, error 11.983398
-- threshold: 76.6836 units
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "orders"."#unit" AS unit, "orders"."tag" AS k1
  FROM (SELECT t."member" AS "#unit", t."tag", t."amount" FROM "orders" t WHERE t."member" IS NOT NULL) "orders"
  WHERE ("orders"."amount" > 10.0e0)
),
_groups AS (
  SELECT unit, k1, COUNT(*) AS n FROM _rows GROUP BY unit, k1
),
_capped AS MATERIALIZED (
  SELECT * FROM _groups
  QUALIFY ROW_NUMBER() OVER (PARTITION BY unit ORDER BY MD5(CONCAT($cap_key, chr(31), CAST(unit AS VARCHAR), chr(31), COALESCE('v' || CAST(k1 AS VARCHAR), 'n'))), k1) <= 2
),
_weights AS (
  SELECT unit, CASE WHEN SUM(n) <= 5 THEN 1024 ELSE CAST(5120 // SUM(n) AS INTEGER) END AS w FROM _capped GROUP BY unit
),
_cells AS (
  SELECT k1, SUM(n * w) AS c1, COUNT(*) * 1024 AS c2 FROM _capped JOIN _weights USING (unit) GROUP BY k1
)
SELECT k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM _cells
WHERE c2 >= 3072
ORDER BY k1 NULLS LAST
