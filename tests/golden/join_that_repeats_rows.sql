-- policy: register
-- analyst: alice
SELECT r.zone, COUNT(*) FROM members m LEFT JOIN regions r ON m.region = r.region GROUP BY r.zone;

-- charge:
-- table:members: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- unit:member: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- analyst:alice: epsilon 1, delta 0, DiscreteLaplace(epsilon=Decimal('1'))
-- error:
-- COUNT(*): laplace, l1 2, l2 2, scale 2, error 5.9912109
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "m"."#unit" AS unit, "r"."zone" AS k1
  FROM (SELECT t."member" AS "#unit", t."region" FROM "members" t WHERE t."member" IS NOT NULL) "m"
    LEFT JOIN "regions" "r" ON "m"."region" = "r"."region"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('a', 'b', 'c') THEN TRUE ELSE FALSE END
),
_groups AS MATERIALIZED (
  SELECT unit, k1, COUNT(*) AS n FROM _rows GROUP BY unit, k1
),
_weights AS (
  SELECT unit, CASE WHEN SUM(n) <= 2 THEN 1024 ELSE CAST(2048 // SUM(n) AS INTEGER) END AS w FROM _groups GROUP BY unit
),
_weighted AS (
  SELECT k1, SUM(n * w) AS c1 FROM _groups JOIN _weights USING (unit) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- a, 30
-- b, 15
-- c, 0
