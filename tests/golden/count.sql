-- policy: clinic
SELECT COUNT(*) FROM patients WHERE age >= 65;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 10, error 29.957031
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit
  FROM (SELECT t."patient_id" AS "#unit", t."age" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
  WHERE ("patients"."age" >= 65)
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(n * w) AS c1 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM _cells
-- answer without noise:
-- 72
