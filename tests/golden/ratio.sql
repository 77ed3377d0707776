-- policy: clinic
SELECT ROUND(100.0 * COUNT_IF(age > 50) / COUNT(*), 1) AS share FROM patients;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT_IF(age > 50): laplace, l1 1, l2 1, scale 20, error 59.915039
-- COUNT(*): laplace, l1 1, l2 1, scale 20, error 59.915039
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, CASE WHEN ("patients"."age" > 50) THEN 1 END AS v1
  FROM (SELECT t."patient_id" AS "#unit", t."age" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, COUNT(v1) AS s1, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(s1 * w) AS c1, SUM(n * w) AS c2 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM _cells
-- answer without noise:
-- 48.0
