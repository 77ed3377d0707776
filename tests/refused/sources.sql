SELECT COUNT(*) FROM nosuchtable
-- DP101

SELECT COUNT(*) FROM sqlite_master
-- DP101

SELECT COUNT(*) FROM information_schema.tables
-- DP201

SELECT table_name, estimated_size FROM duckdb_tables()
-- DP205

SELECT * FROM duckdb_settings()
-- DP205

SELECT COUNT(*) FROM query('SELECT * FROM patients')
-- DP205

SELECT COUNT(*) FROM query_table('patients')
-- DP205

SELECT * FROM read_csv('/etc/passwd', sep = ':')
-- DP205

SELECT * FROM read_text('/etc/passwd')
-- DP205

SELECT * FROM glob('/*')
-- DP205

SELECT * FROM 'patients.parquet'
-- DP101

SELECT * FROM 'https://example.org/x.parquet'
-- DP101

SELECT COUNT(*) FROM clinic.main.patients
-- DP201

SELECT COUNT(*) FROM temp.patients
-- DP201

SELECT COUNT(*) FROM range(100000) a, range(100000) b
-- DP205

SELECT COUNT(*) FROM "#unit"
-- DP101

SELECT COUNT(*) FROM exact
-- DP101

SELECT COUNT(*) FROM noise
-- DP101

SELECT COUNT(*) FROM $cap_key
-- DP100
