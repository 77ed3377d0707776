SELECT LIST(cost) FROM patients
-- DP205

SELECT STRING_AGG(diagnosis, ',') FROM patients
-- DP205

SELECT HISTOGRAM(diagnosis) FROM patients
-- DP205

SELECT MODE(diagnosis) FROM patients
-- DP205

SELECT FIRST(cost) FROM patients
-- DP205

SELECT ANY_VALUE(cost) FROM patients
-- DP201

SELECT ARG_MAX(patient_id, cost) FROM patients
-- DP205

SELECT MAX(cost) FROM patients
-- DP205

SELECT MIN(cost) FROM patients
-- DP205

SELECT BIT_XOR(patient_id) FROM patients
-- DP205

SELECT BOOL_OR(diagnosis = 'kuru') FROM patients
-- DP205

SELECT PRODUCT(age) FROM patients
-- DP205

SELECT ENTROPY(diagnosis) FROM patients
-- DP205

SELECT APPROX_COUNT_DISTINCT(diagnosis) FROM patients
-- DP205

SELECT SUM(DISTINCT age) FROM patients
-- DP201

SELECT AVG(DISTINCT age) FROM patients
-- DP201

SELECT COUNT(*) FROM patients WHERE RANDOM() < 0.5
-- DP205

SELECT COUNT(*) FROM patients WHERE HASH(patient_id) % 2 = 0
-- DP205

SELECT COUNT(*) FROM patients WHERE MD5(diagnosis) < '8'
-- DP205

SELECT SUM(CASE WHEN patient_id = 1 THEN ERROR('x' || diagnosis) ELSE 1 END) FROM patients
-- DP205

SELECT COUNT(*) FROM patients WHERE CASE WHEN patient_id = 1 THEN LENGTH(REPEAT('x', 100000000)) > 0 ELSE TRUE END
-- DP205

SELECT COUNT(*) FROM patients WHERE SLEEP_MS(10) IS NULL
-- DP205

SELECT COUNT(*) FROM patients WHERE day > NOW()
-- DP205

SELECT COUNT(*) FROM patients WHERE CURRENT_DATE > DATE '2024-01-01'
-- DP205

SELECT GETENV('HOME'), COUNT(*) FROM patients
-- DP205

SELECT COUNT(*), SETSEED(0.5) FROM patients
-- DP205

SELECT WRITE_LOG(diagnosis), COUNT(*) FROM patients GROUP BY 1
-- DP205

SELECT COUNT(*) FROM patients WHERE REGEXP_MATCHES(diagnosis, '(k|k)+u')
-- DP205

SELECT COUNT(*) FROM patients WHERE LIST_CONTAINS([1, 2], patient_id)
-- DP205

SELECT NEXTVAL('s'), COUNT(*) FROM patients
-- DP205

SELECT TYPEOF(SUM(cost)) FROM patients
-- DP205

SELECT COUNT(*) FROM patients WHERE CAST(diagnosis AS DATE) > DATE '2024-01-01'
-- DP205

SELECT SUM(CAST(sex AS INTEGER)) FROM patients
-- DP205

SELECT COUNT(*) FROM patients WHERE diagnosis LIKE hospital
-- DP201

SELECT COUNT(*) FROM patients WHERE diagnosis SIMILAR TO 'k.*'
-- DP201

SELECT COUNT(*) FROM patients WHERE diagnosis ~ 'k.*'
-- DP205

SELECT STDDEV(cost) FROM patients
-- DP205

SELECT MEDIAN(age) FROM patients
-- DP205

SELECT QUANTILE_CONT(cost, 0.9) FROM patients
-- DP205

SELECT CORR(age, cost) FROM patients
-- DP205
