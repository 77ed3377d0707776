SELECT * FROM patients
-- DP203

SELECT p.* FROM patients p
-- DP203

SELECT COUNT(*), * FROM patients
-- DP203

TABLE patients
-- DP203

FROM patients
-- DP203

SELECT cost FROM patients WHERE patient_id = 1
-- DP203

SELECT hospital FROM patients GROUP BY hospital
-- DP203

SELECT DISTINCT diagnosis FROM patients
-- DP201

SELECT 1 FROM patients
-- DP203

SELECT hospital FROM patients ORDER BY cost LIMIT 1
-- DP203

SELECT patients FROM patients
-- DP102

SELECT p.rowid, COUNT(*) FROM patients p GROUP BY 1
-- DP102

SELECT COUNT(*) FROM patients WHERE rowid = 0
-- DP102

SELECT cost, COUNT(*) FROM patients GROUP BY sex
-- DP106

SELECT cost, COUNT(*) FROM patients
-- DP106

SELECT sex, COUNT(*) FROM patients GROUP BY sex ORDER BY cost
-- DP106

SELECT sex, COUNT(*) FROM patients GROUP BY sex HAVING age > 50
-- DP106

SELECT * EXCLUDE (cost) FROM patients
-- DP201

SELECT COLUMNS('c.*') FROM patients
-- DP205

SELECT {'a': cost} FROM patients
-- DP205

SELECT [cost] FROM patients
-- DP205
