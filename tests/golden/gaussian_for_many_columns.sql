-- policy: clinic
-- epsilon: 0.5
-- delta: 1e-6
SELECT COUNT(*), COUNT_IF(age > 20), COUNT_IF(age > 30), COUNT_IF(age > 40), COUNT_IF(age > 50),
    COUNT_IF(age > 60), COUNT_IF(age > 70), SUM(age), SUM(cost), COUNT_IF(sex = 'F') FROM patients;

-- charge:
-- table:patients: epsilon 0.5, delta 0.000001, DiscreteGaussian(mu2=0.01540233544307413, variance=680790272.68077)
-- unit:patient: epsilon 0.5, delta 0.000001, DiscreteGaussian(mu2=0.01540233544307413, variance=680790272.68077)
-- error:
-- COUNT(*): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- COUNT_IF(age > 20): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- COUNT_IF(age > 30): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- COUNT_IF(age > 40): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- COUNT_IF(age > 50): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- COUNT_IF(age > 60): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- COUNT_IF(age > 70): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- SUM(age): gaussian, l1 110, l2 110, scale 2802.847, error 5493.4795
-- SUM(cost): gaussian, l1 50000, l2 50000, scale 1274022.4, error 2497038
-- COUNT_IF(sex = 'F'): gaussian, l1 1, l2 1, scale 25.480428, error 49.94043
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, CASE WHEN ("patients"."age" > 20) THEN 1 END AS v2, CASE WHEN ("patients"."age" > 30) THEN 1 END AS v3, CASE WHEN ("patients"."age" > 40) THEN 1 END AS v4, CASE WHEN ("patients"."age" > 50) THEN 1 END AS v5, CASE WHEN ("patients"."age" > 60) THEN 1 END AS v6, CASE WHEN ("patients"."age" > 70) THEN 1 END AS v7, CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS INTEGER) AS v8, CAST(FLOOR((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END) * 100.0e0 + 0.5e0) AS BIGINT) AS v9, CASE WHEN ("patients"."sex" = 'F') THEN 1 END AS v10
  FROM (SELECT t."patient_id" AS "#unit", t."age", t."cost", f."sex" FROM "patients" t JOIN (SELECT t."patient_id" AS unit, MIN(CASE WHEN t."sex" IN ('F', 'M', 'X') THEN t."sex" END) AS "sex" FROM "patients" t WHERE t."patient_id" IS NOT NULL GROUP BY 1) f ON f.unit = t."patient_id") "patients"
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, COUNT(v2) AS s2, COUNT(v3) AS s3, COUNT(v4) AS s4, COUNT(v5) AS s5, COUNT(v6) AS s6, COUNT(v7) AS s7, SUM(v8) AS s8, SUM(v9) AS s9, COUNT(v10) AS s10, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(n * w) AS c1, SUM(s2 * w) AS c2, SUM(s3 * w) AS c3, SUM(s4 * w) AS c4, SUM(s5 * w) AS c5, SUM(s6 * w) AS c6, SUM(s7 * w) AS c7, SUM(s8 * w) AS c8, SUM(s9 * w) AS c9, SUM(s10 * w) AS c10 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2, CAST(COALESCE(c3, 0) AS HUGEINT) AS c3, CAST(COALESCE(c4, 0) AS HUGEINT) AS c4, CAST(COALESCE(c5, 0) AS HUGEINT) AS c5, CAST(COALESCE(c6, 0) AS HUGEINT) AS c6, CAST(COALESCE(c7, 0) AS HUGEINT) AS c7, CAST(COALESCE(c8, 0) AS HUGEINT) AS c8, CAST(COALESCE(c9, 0) AS HUGEINT) // 4096 AS c9, CAST(COALESCE(c10, 0) AS HUGEINT) AS c10
FROM _cells
-- answer without noise:
-- 400, 370, 333, 259, 192, 106, 45, 19157, 916621.84, 135
