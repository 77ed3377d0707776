-- policy: clinic
SELECT department, COUNT(*), AVG(charge) FROM visits GROUP BY department;

-- charge:
-- table:visits: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 20, l2 20, scale 600, error 1797.4395
-- AVG(charge) centred: laplace, l1 50000, l2 50000, scale 1500000, error 4493598.5
-- COUNT of AVG(charge): laplace, l1 20, l2 20, scale 600, error 1797.4395
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "visits"."#unit" AS unit, "visits"."department" AS k1, (CAST(FLOOR((CASE WHEN "visits"."charge" > 5000.0e0 THEN 5000.0e0 WHEN "visits"."charge" < 0.0e0 THEN 0.0e0 ELSE "visits"."charge" END) * 100.0e0 + 0.5e0) AS BIGINT) - (250000)) AS v2, CASE WHEN (NOT ("visits"."charge" IS NULL)) THEN 1 END AS v3
  FROM (SELECT t."patient_id" AS "#unit", t."department", t."charge" FROM "visits" t WHERE t."patient_id" IS NOT NULL) "visits"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('cardiology', 'emergency', 'oncology', 'pediatrics', 'radiology', 'surgery') THEN TRUE ELSE FALSE END
),
_weights AS (
  SELECT unit, CASE WHEN COUNT(*) <= 20 THEN 1024 ELSE CAST(20480 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_weighted AS (
  SELECT k1, SUM(w) AS c1, SUM(v2 * w) AS c2, SUM(CASE WHEN v3 IS NOT NULL THEN w END) AS c3 FROM _joined JOIN _weights USING (unit) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1, CAST(COALESCE(c2, 0) AS HUGEINT) // 16 AS c2, CAST(COALESCE(c3, 0) AS HUGEINT) AS c3
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- cardiology, 300, 249.0652666666665
-- emergency, 309, 237.17436893203876
-- oncology, 311, 246.50488745980692
-- pediatrics, 297, 224.09986531986533
-- radiology, 304, 255.1749013157896
-- surgery, 318, 242.97622641509406
