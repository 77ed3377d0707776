-- policy: clinic
SELECT h.city, COUNT(*) FROM patients p JOIN hospitals h ON p.hospital = h.hospital GROUP BY h.city;

-- charge:
-- table:patients: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- unit:patient: epsilon 0.1, delta 0, DiscreteLaplace(epsilon=Decimal('0.1'))
-- error:
-- COUNT(*): laplace, l1 1, l2 1, scale 10, error 29.957031
-- sql:
WITH _joined AS NOT MATERIALIZED (
  SELECT "p"."#unit" AS unit, "h"."city" AS k1
  FROM (SELECT t."patient_id" AS "#unit", f."hospital" FROM "patients" t JOIN (SELECT t."patient_id" AS unit, MIN(CASE WHEN t."hospital" IN ('Alder', 'Birch', 'Cedar', 'Dogwood', 'Elm') THEN t."hospital" END) AS "hospital" FROM "patients" t WHERE t."patient_id" IS NOT NULL GROUP BY 1) f ON f.unit = t."patient_id") "p"
    JOIN "hospitals" "h" ON "p"."hospital" = "h"."hospital"
),
_rows AS NOT MATERIALIZED (
  SELECT * FROM _joined WHERE CASE WHEN k1 IN ('Eastmere', 'Northton', 'Southby', 'Westfold') THEN TRUE ELSE FALSE END
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
-- Eastmere, 85
-- Northton, 163
-- Southby, 77
-- Westfold, 75
