-- policy: clinic
SELECT DATE_TRUNC('month', day) AS month, COUNT(*) FROM visits GROUP BY month;

-- charge:
-- table:visits: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 20, l2 20, scale 200, error 599.14648
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "visits"."#unit" AS unit, CASE WHEN CASE WHEN "visits"."day" BETWEEN DATE '0001-01-08' AND DATE '9999-12-31' THEN CAST(DATE_TRUNC('month', "visits"."day") AS DATE) END BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN CASE WHEN "visits"."day" BETWEEN DATE '0001-01-08' AND DATE '9999-12-31' THEN CAST(DATE_TRUNC('month', "visits"."day") AS DATE) END END AS k1
  FROM (SELECT t."patient_id" AS "#unit", t."day" FROM "visits" t WHERE t."patient_id" IS NOT NULL) "visits"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN (DATE '2024-01-01', DATE '2024-02-01', DATE '2024-03-01', DATE '2024-04-01', DATE '2024-05-01', DATE '2024-06-01', DATE '2024-07-01', DATE '2024-08-01', DATE '2024-09-01', DATE '2024-10-01', DATE '2024-11-01', DATE '2024-12-01') THEN TRUE ELSE FALSE END
),
_weights AS (
  SELECT unit, CASE WHEN COUNT(*) <= 20 THEN 1024 ELSE CAST(20480 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit
),
_weighted AS (
  SELECT k1, SUM(w) AS c1 FROM _joined JOIN _weights USING (unit) GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::DATE[]) AS k1)) d
LEFT JOIN _weighted ON _weighted.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- 2024-01-01, 154
-- 2024-02-01, 155
-- 2024-03-01, 164
-- 2024-04-01, 133
-- 2024-05-01, 153
-- 2024-06-01, 142
-- 2024-07-01, 157
-- 2024-08-01, 152
-- and 4 more rows
