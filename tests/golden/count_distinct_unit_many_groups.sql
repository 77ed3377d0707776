-- policy: clinic
SELECT day, COUNT(DISTINCT patient_id) FILTER (WHERE charge > 100) FROM visits GROUP BY day;

-- charge:
-- table:visits: epsilon 0.1, delta 1.0E-8, DiscreteGaussian(mu2=0.000473879507400111, variance=44254962903.98492)
-- unit:patient: epsilon 0.1, delta 1.0E-8, DiscreteGaussian(mu2=0.000473879507400111, variance=44254962903.98492)
-- error:
-- COUNT(DISTINCT patient_id) FILTER(WHERE charge > 100): gaussian, l1 20, l2 4.472135955, scale 205.43812, error 402.65137
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "visits"."#unit" AS unit, "visits"."day" AS k1, CASE WHEN ("visits"."charge" > 100.0e0) THEN 1 END AS v1
  FROM (SELECT t."patient_id" AS "#unit", t."day", t."charge" FROM "visits" t WHERE t."patient_id" IS NOT NULL) "visits"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE k1 BETWEEN DATE '2024-01-01' AND DATE '2024-12-31'
),
_pairs AS (
  SELECT unit, k1, COUNT(v1) AS s1 FROM _rows GROUP BY unit, k1
),
_capped AS (
  SELECT * FROM _pairs
  QUALIFY ROW_NUMBER() OVER (PARTITION BY unit ORDER BY MD5(CONCAT($cap_key, chr(31), CAST(unit AS VARCHAR), chr(31), COALESCE('v' || CAST(k1 AS VARCHAR), 'n'))), k1) <= 20
),
_counted AS (
  SELECT k1, COUNT(CASE WHEN s1 > 0 THEN 1 END) * 1024 AS c1 FROM _capped GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::DATE[]) AS k1)) d
LEFT JOIN _counted ON _counted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
