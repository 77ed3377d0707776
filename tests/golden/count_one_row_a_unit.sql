-- policy: register
-- analyst: alice
SELECT COUNT(*), COUNT(age), SUM(age), AVG(age) FROM members;

-- charge:
-- table:members: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 3, error 8.9873047
-- SUM(age): laplace, l1 99, l2 99, scale 297, error 889.73242
-- AVG(age) centred: laplace, l1 41, l2 41, scale 123, error 368.47461
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "members"."#unit" AS unit, CAST(CASE WHEN "members"."age" > 99 THEN 99 WHEN "members"."age" < 18 THEN 18 ELSE "members"."age" END AS INTEGER) AS v2, (CAST(CASE WHEN "members"."age" > 99 THEN 99 WHEN "members"."age" < 18 THEN 18 ELSE "members"."age" END AS INTEGER) - (58)) AS v3
  FROM (SELECT t."member" AS "#unit", t."age" FROM "members" t WHERE t."member" IS NOT NULL) "members"
),
_cells AS (
  SELECT COUNT(*) * 1024 AS c1, SUM(v2) * 1024 AS c2, SUM(v3) * 1024 AS c3 FROM _rows
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2, CAST(COALESCE(c3, 0) AS HUGEINT) AS c3
FROM _cells
-- answer without noise:
-- 60, 60, 2406, 40.1
