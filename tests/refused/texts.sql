-- only a comment
-- DP100

SELECT
-- DP100

SELECT FROM patients
-- DP100

SELECT FROM hospitals ORDER BY beds
-- DP100

SELECT COUNT(* FROM patients
-- DP100

SELECT COUNT(*) FROM patients WHERE
-- DP100

SELECT 'a\' , patient_id FROM patients --'
-- DP203

SELECT COUNT(*) FROM patients WHERE diagnosis = 'it''s' /* unclosed
-- DP100

SELECT COUNT(*) FROM patients WHERE age > 1e0+5
-- DP100

SELECT COUNT(*) FROM patients WHERE age > 9223372036854775808
-- DP104

SELECT COUNT(*) FROM patients WHERE age > ((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))))))
-- DP107

SELECT COUNT(*) FROM patients WHERE NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT NOT TRUE
-- DP107
