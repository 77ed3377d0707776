-- Query shapes over the registry of tests/strategies.py: one for each way in which a plan bounds what a unit adds.

-- One row a unit, enforced by the database.

-- shape: certain_count
SELECT COUNT(*), COUNT(income), SUM(income) FROM members;

-- shape: certain_public
SELECT colour, COUNT(*), AVG(income) FROM members GROUP BY colour;

-- shape: certain_private
SELECT team, COUNT(*), SUM(level) FROM members GROUP BY team;

-- shape: certain_boolean
SELECT active, COUNT(*), SUM(level) FILTER (WHERE income > 0) FROM members GROUP BY active;

-- shape: certain_bounded_key
SELECT level, COUNT(DISTINCT person_id), AVG(income) FROM members GROUP BY level;

-- One row a unit, promised only.

-- shape: promised_count
SELECT COUNT(*), SUM(cost), COUNT(DISTINCT person_id) FROM patients;

-- shape: constant_key
SELECT hospital, COUNT(*), SUM(age) FROM patients GROUP BY hospital;

-- shape: constant_null_group
SELECT sex, COUNT(*), AVG(cost) FROM patients GROUP BY sex;

-- shape: constant_keys
SELECT hospital, sex, COUNT(*), SUM(cost) FROM patients GROUP BY hospital, sex;

-- shape: constant_condition
SELECT COUNT(*), SUM(age) FROM patients WHERE sex = 'F' AND hospital <> 'Elm';

-- shape: constant_expression
SELECT UPPER(hospital), COUNT(*) FROM patients GROUP BY 1;

-- shape: constant_and_private
SELECT hospital, diagnosis, COUNT(*), SUM(cost) FROM patients GROUP BY 1, 2;

-- shape: private_row_key
SELECT diagnosis, COUNT(*), AVG(age), COUNT(cost) FROM patients GROUP BY diagnosis;

-- shape: age_bands
SELECT age // 10, COUNT(*), COUNT(DISTINCT person_id) FROM patients GROUP BY 1;

-- shape: case_key
SELECT CASE WHEN age < 18 THEN 'child' WHEN age >= 65 THEN 'old' ELSE 'adult' END, SUM(cost) FROM patients GROUP BY 1;

-- Several rows a unit.

-- shape: rows
SELECT COUNT(*), COUNT(note), SUM(charge), AVG(weight) FROM visits;

-- shape: units
SELECT COUNT(DISTINCT person_id) FROM visits;

-- shape: units_filter
SELECT COUNT(DISTINCT person_id) FILTER (WHERE urgent), COUNT(*) FILTER (WHERE charge > 100) FROM visits;

-- shape: where
SELECT COUNT(*), SUM(charge) FROM visits WHERE urgent AND minutes BETWEEN -10 AND 100;

-- shape: public_key
SELECT department, COUNT(*), SUM(charge) FROM visits GROUP BY department;

-- shape: public_key_average
SELECT department, AVG(weight), AVG(minutes) FROM visits GROUP BY department;

-- shape: units_by_null_group
SELECT department, COUNT(DISTINCT person_id), COUNT(*) FROM visits GROUP BY department;

-- shape: units_by_mask
SELECT MONTH(day), COUNT(DISTINCT person_id) FROM visits GROUP BY 1;

-- shape: units_by_boolean_mask
SELECT urgent, COUNT(DISTINCT person_id) FROM visits GROUP BY urgent;

-- shape: units_by_listed_mask
SELECT note, COUNT(DISTINCT person_id) FROM visits WHERE note IN ('a', 'b', 'it''s') GROUP BY note;

-- shape: units_beyond_a_mask
SELECT room, COUNT(DISTINCT person_id) FROM visits GROUP BY room;

-- shape: units_filter_by_key
SELECT department, COUNT(DISTINCT person_id) FILTER (WHERE urgent) FROM visits GROUP BY department;

-- shape: units_two_filters
SELECT room // 10, COUNT(DISTINCT person_id), COUNT(DISTINCT person_id) FILTER (WHERE charge > 10) FROM visits GROUP BY 1;

-- shape: two_public_keys
SELECT department, urgent, COUNT(*), SUM(weight) FROM visits GROUP BY 1, 2;

-- shape: date_key
SELECT day, COUNT(*), SUM(charge) FROM visits GROUP BY day;

-- shape: date_trunc_key
SELECT DATE_TRUNC('quarter', day), COUNT(*), COUNT(DISTINCT person_id) FROM visits GROUP BY 1;

-- shape: constant_key_of_many
SELECT region, COUNT(*), SUM(charge), COUNT(DISTINCT person_id) FROM visits GROUP BY region;

-- shape: constant_without_domain
SELECT clan, COUNT(*), AVG(charge) FROM visits GROUP BY clan;

-- shape: constant_and_public
SELECT region, department, COUNT(*), SUM(minutes) FROM visits GROUP BY 1, 2;

-- shape: private_key
SELECT note, COUNT(*), SUM(charge) FROM visits GROUP BY note;

-- shape: private_key_average
SELECT note, AVG(weight), COUNT(DISTINCT person_id) FILTER (WHERE urgent) FROM visits GROUP BY note;

-- shape: private_expression
SELECT LENGTH(note), COUNT(*) FROM visits GROUP BY 1;

-- shape: mixed_keys
SELECT department, note, COUNT(*), SUM(weight) FROM visits GROUP BY 1, 2;

-- shape: private_limit
SELECT note, SUM(minutes), COUNT(*) FROM visits GROUP BY note;

-- shape: limited_sum
SELECT SUM(minutes), COUNT(*), SUM(charge) FROM visits;

-- shape: limited_by_key
SELECT department, SUM(minutes), COUNT(DISTINCT person_id) FROM visits GROUP BY 1;

-- shape: limited_by_constant
SELECT region, SUM(minutes) FILTER (WHERE urgent) FROM visits GROUP BY 1;

-- shape: nested_case
SELECT SUM(CASE WHEN urgent THEN CASE WHEN charge > 50 THEN charge ELSE weight END ELSE -minutes END), AVG(CASE WHEN note = 'a' THEN 2 WHEN note IS NULL THEN -3 END) FROM visits;

-- shape: arithmetic
SELECT SUM(charge * weight - minutes), SUM(LEAST(GREATEST(weight / charge, -1), 1)), SUM(minutes % 7), SUM(ABS(minutes) * room) FROM visits;

-- shape: choices
SELECT SUM(COALESCE(minutes, room)), SUM(GREATEST(weight, 3)), SUM(LEAST(minutes, 5)), SUM(NULLIF(room, 50)) FROM visits;

-- shape: constant_argument
SELECT SUM(3), SUM(-2.5), COUNT(1) FROM visits;

-- Joins to public tables.

-- shape: join
SELECT city, COUNT(*), SUM(cost) FROM patients JOIN hospitals USING (hospital) GROUP BY city;

-- shape: join_sums_public_value
SELECT SUM(h.beds), AVG(p.age) FROM patients p JOIN hospitals h ON p.hospital = h.hospital;

-- shape: left_join
SELECT city, COUNT(*), SUM(age) FROM patients LEFT JOIN hospitals USING (hospital) GROUP BY city;

-- shape: left_join_null
SELECT COUNT(*) FROM patients p LEFT JOIN hospitals h ON p.hospital = h.hospital WHERE h.city IS NULL;

-- shape: fan_out
SELECT COUNT(*), SUM(charge), SUM(floor) FROM visits JOIN wards USING (ward);

-- shape: fan_out_key
SELECT nurse, COUNT(*), COUNT(DISTINCT person_id), SUM(charge) FROM wards JOIN visits USING (ward) GROUP BY nurse;

-- shape: left_fan_out
SELECT nurse, COUNT(*), AVG(weight) FROM visits LEFT JOIN wards USING (ward) GROUP BY nurse;

-- shape: fan_out_private
SELECT nurse, note, COUNT(*) FROM visits JOIN wards USING (ward) GROUP BY 1, 2;

-- shape: two_joins
SELECT season, floor, COUNT(*), SUM(minutes) FROM visits v JOIN days d ON d.day = v.day LEFT JOIN wards w ON w.ward = v.ward GROUP BY 1, 2;

-- shape: certain_fan_out
SELECT COUNT(*), SUM(income) FROM members m JOIN wards w ON w.floor = m.level;

-- Units at the end of a path, with a minimum number of units a group.

-- shape: path
SELECT COUNT(*), SUM(result), AVG(grade) FROM labs;

-- shape: path_public_key
SELECT grade, COUNT(*), SUM(result) FROM labs GROUP BY grade;

-- shape: path_private_key
SELECT test, COUNT(*), AVG(result) FROM labs GROUP BY test;

-- shape: path_filter
SELECT test, COUNT(*) FILTER (WHERE grade > 2) FROM labs WHERE result < 5 GROUP BY test;

-- shape: long_path
SELECT kind, COUNT(*), SUM(ml) FROM samples GROUP BY kind;

-- shape: long_path_all
SELECT COUNT(*), AVG(ml) FROM samples WHERE kind = 'blood';
