-- policy: clinic
SELECT age // 10 AS decade, COUNT(*) FROM patients GROUP BY decade;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 10, error 29.957031
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, ("patients"."age" // 10) AS k1
  FROM (SELECT t."patient_id" AS "#unit", t."age" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE k1 BETWEEN 0 AND 11
),
_weights AS (
  SELECT unit, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_weighted AS (
  SELECT k1, SUM(w) AS c1 FROM _joined JOIN _weights USING (unit) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::BIGINT[]) AS k1)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- 0, 14
-- 1, 14
-- 2, 36
-- 3, 66
-- 4, 70
-- 5, 85
-- 6, 67
-- 7, 33
-- and 4 more rows
