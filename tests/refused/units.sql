SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id
-- DP204

SELECT COUNT(*) FROM visits GROUP BY patient_id
-- DP204

SELECT sex, COUNT(*) FROM patients GROUP BY sex, patient_id
-- DP204

SELECT patient_id // 2 AS pair, COUNT(*) FROM visits GROUP BY pair
-- DP204

SELECT CAST(patient_id AS VARCHAR) AS name, COUNT(*) FROM visits GROUP BY ALL
-- DP204

SELECT patient_id = 1 AS me, COUNT(*) FROM visits GROUP BY me
-- DP204

SELECT CASE WHEN patient_id = 1 THEN 'one' ELSE 'others' END AS who, COUNT(*) FROM visits GROUP BY who
-- DP204

SELECT COUNT(DISTINCT diagnosis) FROM patients
-- DP201

SELECT COUNT(DISTINCT patient_id + 0) FROM visits
-- DP201

SELECT COUNT(DISTINCT (patient_id, day)) FROM visits
-- DP201
