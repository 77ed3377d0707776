SELECT SUM(nosuchcolumn) FROM patients
-- DP102

SELECT COUNT(*) FROM patients WHERE "#unit" = 1
-- DP102

SELECT x.age, COUNT(*) FROM patients p GROUP BY 1
-- DP101

SELECT hospital, COUNT(*) FROM patients p JOIN hospitals h ON p.hospital = h.hospital GROUP BY hospital
-- DP105

SELECT patients.patients.age FROM patients
-- DP201

SELECT COUNT(*) FROM patients WHERE SUM(cost) > 10
-- DP106

SELECT SUM(COUNT(*)) FROM patients
-- DP106

SELECT COUNT(*) FROM patients WHERE age
-- DP104

SELECT COUNT(*) FROM patients WHERE diagnosis > 5
-- DP104

SELECT COUNT(*) FROM patients WHERE age = 'old'
-- DP104

SELECT COUNT(*) FROM patients WHERE hospital + 1 = 2
-- DP104

SELECT COUNT(*) FROM visits WHERE day = 'yesterday'
-- DP104

SELECT COUNT(*) FROM visits WHERE day > DATE '2024-02-30'
-- DP104

SELECT COUNT(*) FROM patients WHERE age > ?
-- DP103

SELECT COUNT(*) FROM patients WHERE age > $1
-- DP100

SELECT COUNT(*) FROM patients WHERE age > $cap_key
-- DP100

SELECT COUNT(*) FROM patients WHERE age > :age
-- DP100

SELECT COUNT(*) FROM patients LIMIT -1
-- DP104

SELECT COUNT(*) FROM patients LIMIT 10%
-- DP201
