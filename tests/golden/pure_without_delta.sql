-- policy: register
-- analyst: alice
-- delta: 0
SELECT region, COUNT(*), AVG(age) FROM members GROUP BY region;

-- charge:
-- table:members: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 2, error 5.9912109
-- AVG(age) centred: laplace, l1 41, l2 41, scale 82, error 245.65039
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "members"."#unit" AS unit, "members"."region" AS k1, (CAST(CASE WHEN "members"."age" > 99 THEN 99 WHEN "members"."age" < 18 THEN 18 ELSE "members"."age" END AS INTEGER) - (58)) AS v2
  FROM (SELECT t."member" AS "#unit", t."region", t."age" FROM "members" t WHERE t."member" IS NOT NULL) "members"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('east', 'north', 'south') THEN TRUE ELSE FALSE END
),
_cells AS (
  SELECT k1, COUNT(*) * 1024 AS c1, SUM(v2) * 1024 AS c2 FROM _rows GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _cells ON _cells.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- east, 0, 58.0
-- north, 15, 38.8
-- south, 15, 39.66666666666667
