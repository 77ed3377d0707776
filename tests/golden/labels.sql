-- policy: clinic
SELECT CASE WHEN age < 18 THEN 'child' WHEN age < 65 THEN 'adult' ELSE 'senior' END AS band, COUNT(*) FROM patients GROUP BY band;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 10, error 29.957031
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, CASE WHEN ("patients"."age" < 18) THEN 'child' WHEN ("patients"."age" < 65) THEN 'adult' ELSE 'senior' END AS k1
  FROM (SELECT t."patient_id" AS "#unit", t."age" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('adult', 'child', 'senior') THEN TRUE ELSE FALSE END
),
_weights AS (
  SELECT unit, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_weighted AS (
  SELECT k1, SUM(w) AS c1 FROM _joined JOIN _weights USING (unit) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- adult, 306
-- child, 21
-- senior, 73
