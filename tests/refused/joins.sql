SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id
-- DP213

SELECT COUNT(*) FROM patients a JOIN patients b ON a.hospital = b.hospital
-- DP213

SELECT COUNT(*) FROM patients SEMI JOIN visits USING (patient_id)
-- DP201

SELECT COUNT(*) FROM hospitals h LEFT JOIN patients p ON h.hospital = p.hospital
-- DP201

SELECT COUNT(*) FROM patients p RIGHT JOIN hospitals h ON h.hospital = p.hospital
-- DP201

SELECT COUNT(*) FROM patients p FULL JOIN hospitals h ON h.hospital = p.hospital
-- DP201

SELECT COUNT(*) FROM hospitals ANTI JOIN patients USING (hospital)
-- DP201

SELECT COUNT(*) FROM patients, hospitals
-- DP201

SELECT COUNT(*) FROM patients CROSS JOIN hospitals
-- DP201

SELECT COUNT(*) FROM patients NATURAL JOIN hospitals
-- DP201

SELECT COUNT(*) FROM patients p JOIN hospitals h ON p.age < h.beds
-- DP201

SELECT COUNT(*) FROM patients p LEFT JOIN hospitals h ON p.hospital = h.hospital AND p.age > 50
-- DP201

SELECT COUNT(*) FROM patients p POSITIONAL JOIN hospitals h
-- DP201

SELECT COUNT(*) FROM visits v ASOF JOIN visits w ON v.department = w.department AND v.day >= w.day
-- DP201

SELECT COUNT(*) FROM patients, LATERAL (SELECT 1) t
-- DP201

SELECT COUNT(*) FROM patients, UNNEST(RANGE(1000)) t(i)
-- DP201

SELECT COUNT(*) FROM patients TABLESAMPLE 10 PERCENT
-- DP201

SELECT COUNT(*) FROM patients USING SAMPLE 10 ROWS
-- DP201

SELECT COUNT(*) FROM patients p JOIN hospitals p ON p.hospital = p.hospital
-- DP105

SELECT COUNT(*) FROM patients p JOIN hospitals h ON p.hospital = h.hospital AND COUNT(*) > 1
-- DP106
