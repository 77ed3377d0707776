SELECT SUM(patient_id) FROM patients
-- DP202

SELECT AVG(visit_id) FROM visits
-- DP202

SELECT SUM(1 // (patient_id - 1)) FROM patients
-- DP202

SELECT SUM(SQRT(patient_id - 2)) FROM patients
-- DP202

SELECT SUM(cost / age) FROM patients
-- DP208

SELECT SUM(LN(age)) FROM patients
-- DP208

SELECT SUM(EXP(cost)) FROM patients
-- DP208

SELECT SUM(cost * 1e300) FROM patients
-- DP208

SELECT SUM(age * age * age * age * age * age * age * age * age * age) FROM patients
-- DP208

SELECT SUM(cost * 0) FROM patients
-- DP208

SELECT SUM(diagnosis) FROM patients
-- DP104

SELECT AVG(hospital) FROM patients
-- DP104

SELECT SUM(TRY_CAST(diagnosis AS INTEGER)) FROM patients
-- DP208

SELECT SUM(LENGTH(diagnosis)) FROM patients
-- DP208

SELECT SUM(CAST(cost AS FLOAT)) FROM patients
-- DP201

SELECT SUM(CAST(age AS DECIMAL(4, 2))) FROM patients
-- DP201

SELECT SUM(NULL) FROM patients
-- DP104
