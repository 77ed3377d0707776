-- policy: clinic
SELECT COUNT(*) FILTER (WHERE age < 18) AS kids, AVG(age) FILTER (WHERE sex = 'F') FROM patients;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*) FILTER(WHERE age < 18): laplace, l1 1, l2 1, scale 30, error 89.87207
-- AVG(age) FILTER(WHERE sex = 'F') centred: laplace, l1 55, l2 55, scale 1650, error 4942.958
-- COUNT of AVG(age) FILTER(WHERE sex = 'F'): laplace, l1 1, l2 1, scale 30, error 89.87207
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, CASE WHEN ("patients"."age" < 18) THEN 1 END AS v1, CASE WHEN ("patients"."sex" = 'F') THEN (CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS INTEGER) - (55)) END AS v2, CASE WHEN (("patients"."sex" = 'F') AND (NOT ("patients"."age" IS NULL))) THEN 1 END AS v3
  FROM (SELECT t."patient_id" AS "#unit", t."age", f."sex" FROM "patients" t JOIN (SELECT t."patient_id" AS unit, MIN(CASE WHEN t."sex" IN ('F', 'M', 'X') THEN t."sex" END) AS "sex" FROM "patients" t WHERE t."patient_id" IS NOT NULL GROUP BY 1) f ON f.unit = t."patient_id") "patients"
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, COUNT(v1) AS s1, SUM(v2) AS s2, COUNT(v3) AS s3, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(s1 * w) AS c1, SUM(s2 * w) AS c2, SUM(s3 * w) AS c3 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2, CAST(COALESCE(c3, 0) AS HUGEINT) AS c3
FROM _cells
-- answer without noise:
-- 21, 47.507462686567166
