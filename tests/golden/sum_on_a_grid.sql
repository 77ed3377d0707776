-- policy: clinic
SELECT SUM(cost), AVG(cost) FROM patients;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- SUM(cost): laplace, l1 50000, l2 50000, scale 1500000, error 4493598.4
-- AVG(cost) centred: laplace, l1 25000, l2 25000, scale 750000, error 2246799.2
-- COUNT of AVG(cost): laplace, l1 1, l2 1, scale 30, error 89.87207
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, CAST(FLOOR((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END) * 100.0e0 + 0.5e0) AS BIGINT) AS v1, (CAST(FLOOR((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END) * 100.0e0 + 0.5e0) AS BIGINT) - (2500000)) AS v2, CASE WHEN (NOT ("patients"."cost" IS NULL)) THEN 1 END AS v3
  FROM (SELECT t."patient_id" AS "#unit", t."cost" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
),
_per_unit AS (
  SELECT unit, COUNT(*) AS n, SUM(v1) AS s1, SUM(v2) AS s2, COUNT(v3) AS s3, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_cells AS (
  SELECT SUM(s1 * w) AS c1, SUM(s2 * w) AS c2, SUM(s3 * w) AS c3 FROM _per_unit
)
SELECT CAST(COALESCE(c1, 0) AS HUGEINT) // 16 AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) // 8 AS c2, CAST(COALESCE(c3, 0) AS HUGEINT) AS c3
FROM _cells
-- answer without noise:
-- 916621.85, 2291.5546250000007
