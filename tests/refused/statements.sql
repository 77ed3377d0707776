SELECT COUNT(*) FROM patients UNION ALL SELECT COUNT(*) FROM visits
-- DP200

SELECT COUNT(*) FROM patients; SELECT COUNT(*) FROM patients
-- DP200

SELECT COUNT(*) FROM hospitals; SELECT * FROM patients
-- DP200

VALUES (1)
-- DP200

PIVOT patients ON diagnosis USING COUNT(*)
-- DP200

UNPIVOT patients ON age, cost INTO NAME n VALUE v
-- DP200

SELECT * FROM (PIVOT patients ON diagnosis USING COUNT(*) GROUP BY hospital)
-- DP214

SUMMARIZE patients
-- DP200

DESCRIBE patients
-- DP200

SHOW TABLES
-- DP200

EXPLAIN SELECT COUNT(*) FROM patients WHERE diagnosis = 'kuru'
-- DP200

EXPLAIN ANALYZE SELECT COUNT(*) FROM patients
-- DP200

PRAGMA table_info('patients')
-- DP200

COPY (SELECT * FROM patients) TO '/tmp/patients.csv'
-- DP200

EXPORT DATABASE '/tmp/clinic'
-- DP200

IMPORT DATABASE '/tmp/clinic'
-- DP200

ATTACH 'other.duckdb'
-- DP200

INSTALL httpfs
-- DP200

LOAD httpfs
-- DP200

SET threads = 1
-- DP200

RESET lock_configuration
-- DP200

CALL pragma_version()
-- DP200

CREATE TEMP TABLE t AS SELECT * FROM patients
-- DP200

CREATE MACRO leak(i) AS (SELECT cost FROM patients WHERE patient_id = i)
-- DP200

INSERT INTO hospitals VALUES ('Fir', 'Northton', 1)
-- DP200

WITH t AS (SELECT * FROM patients) INSERT INTO hospitals SELECT hospital, diagnosis, 1 FROM t
-- DP200

UPDATE patients SET cost = 0
-- DP200

DELETE FROM visits
-- DP200

MERGE INTO hospitals USING patients ON FALSE WHEN NOT MATCHED THEN INSERT VALUES ('a', 'b', 1)
-- DP200

DROP TABLE patients
-- DP200

ALTER TABLE patients ADD COLUMN x INTEGER
-- DP200

PREPARE q AS SELECT * FROM patients
-- DP200

EXECUTE q(1)
-- DP200

BEGIN
-- DP200

CHECKPOINT
-- DP200

GRANT ALL ON patients TO PUBLIC
-- DP200

USE memory
-- DP200
