-- policy: clinic
-- error: ±20
SELECT sex, COUNT(*) FROM patients GROUP BY sex;

-- charge:
-- table:patients: epsilon 0.154, delta 0, DiscreteLaplace(epsilon=Decimal('0.154'))
-- unit:patient: epsilon 0.154, delta 0, DiscreteLaplace(epsilon=Decimal('0.154'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 6.4935065, error 19.453125
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "patients"."#unit" AS unit, "patients"."sex" AS k1
  FROM (SELECT t."patient_id" AS "#unit", f."sex" FROM "patients" t JOIN (SELECT t."patient_id" AS unit, MIN(CASE WHEN t."sex" IN ('F', 'M', 'X') THEN t."sex" END) AS "sex" FROM "patients" t WHERE t."patient_id" IS NOT NULL GROUP BY 1) f ON f.unit = t."patient_id") "patients"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('F', 'M', 'X') THEN TRUE ELSE FALSE END
),
_per_unit AS (
  SELECT unit, k1, COUNT(*) AS n, CASE WHEN COUNT(*) <= 1 THEN 1024 ELSE CAST(1024 // COUNT(*) AS INTEGER) END AS w FROM _rows GROUP BY unit, k1
),
_cells AS (
  SELECT k1, SUM(n * w) AS c1 FROM _per_unit GROUP BY k1
)
SELECT d.k1, CAST(COALESCE(c1, 0) AS HUGEINT) AS c1
FROM (SELECT * FROM (SELECT unnest($d1::VARCHAR[]) AS k1)) d
LEFT JOIN _cells ON _cells.k1 IS NOT DISTINCT FROM d.k1
ORDER BY d.k1 NULLS LAST
-- answer without noise:
-- F, 135
-- M, 146
-- X, 119
