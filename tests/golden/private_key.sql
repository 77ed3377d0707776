-- policy: clinic
SELECT diagnosis, COUNT(*), AVG(cost) FROM patients GROUP BY diagnosis;

-- charge:
-- table:patients: epsilon 0.1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('0.1')), Threshold(delta=Decimal('1.0E-8'))))
-- unit:patient: epsilon 0.1, delta 1.0E-8, Composed(events=(DiscreteLaplace(epsilon=Decimal('0.1')), Threshold(delta=Decimal('1.0E-8'))))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 30, error 89.87207
-- AVG(cost) centred: laplace, l1 25000, l2 25000, scale 750000, error 2246799.2
-- COUNT of AVG(cost): laplace, l1 1, l2 1, scale 30, error 89.87207
-- threshold: 532.827 units
-- sql:
WITH _rows AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, "patients"."diagnosis" AS k1, (CAST(FLOOR((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END) * 100.0e0 + 0.5e0) AS BIGINT) - (2500000)) AS v2, CASE WHEN (NOT ("patients"."cost" IS NULL)) THEN 1 END AS v3
  FROM (SELECT t."patient_id" AS "#unit", t."diagnosis", t."cost" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
),
_groups AS (
  SELECT unit, k1, COUNT(*) AS n, SUM(v2) AS s2, COUNT(v3) AS s3 FROM _rows GROUP BY unit, k1
),
_capped AS MATERIALIZED (
  SELECT * FROM _groups
  QUALIFY ROW_NUMBER() OVER (PARTITION BY unit ORDER BY MD5(CONCAT($cap_key, chr(31), CAST(unit AS VARCHAR), chr(31), COALESCE('v' || CAST(k1 AS VARCHAR), 'n'))), k1) <= 1
),
_weights AS (
  SELECT unit, CASE WHEN SUM(n) <= 1 THEN 1024 ELSE CAST(1024 // SUM(n) AS INTEGER) END AS w FROM _capped GROUP BY unit
),
_cells AS (
  SELECT k1, COUNT(*) * 1024 AS c1, SUM(s2 * w) AS c2, SUM(s3 * w) AS c3 FROM _capped JOIN _weights USING (unit) GROUP BY k1
)
SELECT k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) // 8 AS c2, CAST(COALESCE(c3, 0) AS HUGEINT) AS c3
FROM _cells
ORDER BY k1 NULLS LAST
