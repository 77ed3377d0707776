-- policy: clinic
SELECT department, COUNT(DISTINCT patient_id) FROM visits GROUP BY department;

-- charge:
-- table:visits: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(DISTINCT patient_id): laplace, l1 3, l2 1.732050808, scale 30, error 89.87207
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "visits"."#unit" AS unit, "visits"."department" AS k1
  FROM (SELECT t."patient_id" AS "#unit", t."department" FROM "visits" t WHERE t."patient_id" IS NOT NULL) "visits"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('cardiology', 'emergency', 'oncology', 'pediatrics', 'radiology', 'surgery') THEN TRUE ELSE FALSE END
),
_bits AS MATERIALIZED (
  SELECT k1, 1::BIGINT << i::INTEGER AS bit FROM (SELECT unnest($d1::VARCHAR[]) AS k1, unnest(range(len($d1::VARCHAR[]))) AS i)
),
_masks AS MATERIALIZED (
  SELECT unit, BIT_OR(bit) AS mask FROM _joined JOIN _bits USING (k1) GROUP BY unit
),
_heavy AS (
  SELECT unit, k1 FROM _masks JOIN _bits ON mask & bit <> 0 WHERE BIT_COUNT(mask) > 3
),
_capped AS (
  SELECT * FROM _heavy
  QUALIFY ROW_NUMBER() OVER (PARTITION BY unit ORDER BY MD5(CONCAT($cap_key, chr(31), CAST(unit AS VARCHAR), chr(31), COALESCE('v' || CAST(k1 AS VARCHAR), 'n'))), k1) <= 3
),
_counted AS (
  SELECT k1, SUM(n) * 1024 AS c1 FROM (
    SELECT k1, n FROM (SELECT mask, COUNT(*) AS n FROM _masks WHERE BIT_COUNT(mask) <= 3 GROUP BY mask) JOIN _bits ON mask & bit <> 0
    UNION ALL SELECT k1, 1 FROM _capped
  ) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _counted ON _counted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
