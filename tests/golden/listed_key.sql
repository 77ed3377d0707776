-- policy: clinic
SELECT diagnosis, COUNT(*) FROM patients WHERE diagnosis IN ('flu', 'asthma') GROUP BY diagnosis;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 10, error 29.957031
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, "patients"."diagnosis" AS k1
  FROM (SELECT t."patient_id" AS "#unit", t."diagnosis" FROM "patients" t WHERE t."patient_id" IS NOT NULL) "patients"
  WHERE ("patients"."diagnosis" IN ('flu', 'asthma'))
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('asthma', 'flu') THEN TRUE ELSE FALSE END
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
-- asthma, 72
-- flu, 55
