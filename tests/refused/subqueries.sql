SELECT COUNT(*) FROM (SELECT * FROM patients ORDER BY cost DESC LIMIT 10) t WHERE diagnosis = 'kuru'
-- DP214

SELECT SUM(cost) FROM (SELECT * FROM patients OFFSET 1) t
-- DP214

SELECT COUNT(*) FROM patients WHERE age > (SELECT AVG(age) FROM patients)
-- DP214

SELECT COUNT(*) FROM patients WHERE cost = (SELECT MAX(cost) FROM patients)
-- DP214

SELECT SUM(cost) / (SELECT SUM(cost) FROM patients) FROM patients WHERE sex = 'F'
-- DP214

SELECT COUNT(*) FROM patients WHERE diagnosis IN (SELECT diagnosis FROM patients GROUP BY diagnosis HAVING COUNT(*) = 1)
-- DP214

SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits)
-- DP214

SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM patients q WHERE q.patient_id = 1 AND q.diagnosis = 'kuru')
-- DP214

SELECT COUNT(*) FROM patients WHERE patient_id = ANY (SELECT patient_id FROM visits)
-- DP201

SELECT COUNT(*) FROM patients, (SELECT diagnosis AS d FROM patients WHERE patient_id = 1) t WHERE t.d = 'kuru'
-- DP214

SELECT hospital, COUNT(*) * (SELECT COUNT(*) FROM patients WHERE patient_id = 1) FROM patients GROUP BY hospital
-- DP214

SELECT hospital FROM hospitals WHERE beds > (SELECT COUNT(*) FROM patients)
-- DP214

SELECT COUNT(*) FROM patients p WHERE (SELECT COUNT(*) FROM patients q WHERE q.hospital = p.hospital) > 80
-- DP214

WITH hospitals AS (SELECT diagnosis AS hospital, cost AS beds FROM patients) SELECT * FROM hospitals
-- DP214

WITH RECURSIVE t(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM t) SELECT COUNT(*) FROM t
-- DP214

SELECT ROW_NUMBER() OVER (ORDER BY cost), COUNT(*) FROM patients
-- DP201

SELECT SUM(cost) OVER (PARTITION BY hospital) FROM patients
-- DP201

SELECT COUNT(*) FROM patients QUALIFY ROW_NUMBER() OVER (ORDER BY cost) = 1
-- DP201

SELECT DISTINCT ON (hospital) cost FROM patients
-- DP201

SELECT COUNT(*) FROM patients LIMIT (SELECT COUNT(*) FROM visits)
-- DP214
