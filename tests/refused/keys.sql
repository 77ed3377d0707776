SELECT cost, COUNT(*) FROM patients GROUP BY cost
-- DP207

SELECT FLOOR(cost) AS c, COUNT(*) FROM patients GROUP BY c
-- DP207

SELECT NULL AS nothing, age / 10 AS decade, COUNT(*) FROM patients GROUP BY decade
-- DP207

SELECT age, day, COUNT(*) FROM patients GROUP BY age, day
-- DP102

SELECT day, department, EXTRACT(isodow FROM day), EXTRACT(day FROM day), EXTRACT(week FROM day), COUNT(*) FROM visits GROUP BY ALL
-- DP207

SELECT hospital, COUNT(*) FROM patients GROUP BY 3
-- DP106

SELECT hospital, COUNT(*) FROM patients GROUP BY COUNT(*)
-- DP106

SELECT hospital, sex, COUNT(*) FROM patients GROUP BY CUBE (hospital, sex)
-- DP201

SELECT hospital, COUNT(*) FROM patients GROUP BY ROLLUP (hospital)
-- DP201

SELECT hospital, COUNT(*) FROM patients GROUP BY GROUPING SETS ((hospital), ())
-- DP201
