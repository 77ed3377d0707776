-- policy: clinic
SELECT SUM(CASE WHEN cost > 1000 THEN LEAST(cost - 1000, 500) ELSE 0 END) AS excess, SUM(age * age) FROM patients;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- SUM(CASE WHEN cost > 1000 THEN LEAST(cost - 1000, 500) ELSE 0 END): laplace, l1 1000, l2 1000, scale 20000, error 59914.646
-- SUM(age * age): laplace, l1 12100, l2 12100, scale 242000, error 724967.21
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, CAST(FLOOR((CASE WHEN (CASE WHEN ("patients"."cost" > 1000.0e0) THEN LEAST((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END - 1000.0e0), 500.0e0) ELSE 0.0e0 END) > 500.0e0 THEN 500.0e0 WHEN (CASE WHEN ("patients"."cost" > 1000.0e0) THEN LEAST((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END - 1000.0e0), 500.0e0) ELSE 0.0e0 END) < -1000.0e0 THEN -1000.0e0 ELSE (CASE WHEN ("patients"."cost" > 1000.0e0) THEN LEAST((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END - 1000.0e0), 500.0e0) ELSE 0.0e0 END) END) * 1024.0e0 + 0.5e0) AS BIGINT) AS v1, CAST(CASE WHEN ((CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS BIGINT) * CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS BIGINT))) > 12100 THEN 12100 WHEN ((CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS BIGINT) * CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS BIGINT))) < 0 THEN 0 ELSE ((CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS BIGINT) * CAST(CASE WHEN "patients"."age" > 110 THEN 110 WHEN "patients"."age" < 0 THEN 0 ELSE "patients"."age" END AS BIGINT))) END AS INTEGER) AS v2
  FROM (SELECT t."patient_id" AS "#unit", t."cost", t."age" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, SUM(v1) AS s1, SUM(v2) AS s2, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(s1 * w) AS c1, SUM(s2 * w) AS c2 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) // 2 AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) AS c2
FROM _cells
-- answer without noise:
-- 92203.169921875, 1061817
