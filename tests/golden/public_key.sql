-- policy: clinic
SELECT hospital, COUNT(*), SUM(cost) FROM patients GROUP BY hospital ORDER BY 2 DESC LIMIT 3;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 20, error 59.915039
-- SUM(cost): laplace, l1 50000, l2 50000, scale 1000000, error 2995732.3
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, "patients"."hospital" AS k1, CAST(FLOOR((CASE WHEN "patients"."cost" > 50000.0e0 THEN 50000.0e0 WHEN "patients"."cost" < 0.0e0 THEN 0.0e0 ELSE "patients"."cost" END) * 100.0e0 + 0.5e0) AS BIGINT) AS v2
  FROM (SELECT t."patient_id" AS "#unit", t."cost", f."hospital" FROM "patients" t JOIN (SELECT t."patient_id" AS unit, MIN(CASE WHEN t."hospital" IN ('Alder', 'Birch', 'Cedar', 'Dogwood', 'Elm') THEN t."hospital" END) AS "hospital" FROM "patients" t WHERE t."patient_id" IS NOT NULL GROUP BY 1) f ON f.unit = t."patient_id") "patients"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('Alder', 'Birch', 'Cedar', 'Dogwood', 'Elm') THEN TRUE ELSE FALSE END
),
_per_unit AS (
  SELECT unit, k1, COUNT(*) AS n, SUM(v2) AS s2, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit, k1
),
_cells AS (
  SELECT k1, SUM(n * w) AS c1, SUM(s2 * w) AS c2 FROM _per_unit GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) // 8 AS c2
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _cells ON _cells.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- Birch, 98, 188870.98
-- Elm, 85, 256523.65
-- Cedar, 77, 148569.46
