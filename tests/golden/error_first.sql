-- policy: clinic
-- error: ±20
SELECT sex, COUNT(*) FROM patients GROUP BY sex;

-- charge:
-- table:patients: epsilon 0.150, delta 0, DiscreteLaplace(epsilon=Decimal('0.150'))
-- unit:patient: epsilon 0.150, delta 0, DiscreteLaplace(epsilon=Decimal('0.150'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 6.6666667, error 19.97168
-- sql:
WITH joined AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, "patients"."sex" AS k1
  FROM (SELECT t."patient_id" AS "#unit", f."sex" FROM "patients" t JOIN (SELECT t."patient_id" AS unit, MIN(CASE WHEN t."sex" IN ('F', 'M', 'X') THEN t."sex" END) AS "sex" FROM "patients" t WHERE t."patient_id" IS NOT NULL GROUP BY 1) f ON f.unit = t."patient_id") "patients"
),
rows AS NOT MATERIALIZED (
  SELECT * FROM joined WHERE CASE WHEN k1 IN ('F', 'M', 'X') THEN TRUE ELSE FALSE END
),
per_unit AS (
  SELECT unit, k1, COUNT(*) AS n, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM rows GROUP BY unit, k1
),
cells AS (
  SELECT k1, SUM(n * w) AS c1 FROM per_unit GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN cells ON cells.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- F, 135
-- M, 146
-- X, 119
