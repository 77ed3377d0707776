"""Does an owner learn how many units the data holds that a promise does not fit?"""

from __future__ import annotations

from pathlib import Path

import duckdb

from dpsql.policy import Policy, load
from dpsql.session import exceeded_promises

POLICY = """\
version: 1
id: ward
source: ward.duckdb
privacy_unit: {name: patient}
tables:
  patients:
    unit: id
    budget: {epsilon: 1, delta: 0}
    max_rows: 1
    columns: {id: {type: integer}, sex: {type: text, constant: true}}
  visits:
    unit: {column: patient, references: patients.id}
    budget: {epsilon: 1, delta: 0}
    max_rows: 2
    columns: {visit: {type: integer}, patient: {type: integer}, ward: {type: text, constant: true}}
  tests:
    unit: {column: visit, references: visits.visit}
    budget: {epsilon: 1, delta: 0}
    max_rows: 3
    columns: {visit: {type: integer}}
"""


def ward(folder: Path, patients: str, visits: str, tests: str) -> Policy:
    with duckdb.connect(str(folder / "ward.duckdb")) as connection:
        connection.execute(
            "CREATE TABLE patients (id INTEGER, sex VARCHAR);"
            "CREATE TABLE visits (visit INTEGER, patient INTEGER, ward VARCHAR);"
            "CREATE TABLE tests (visit INTEGER);"
            f"INSERT INTO patients VALUES {patients}; INSERT INTO visits VALUES {visits};"
            f"INSERT INTO tests VALUES {tests}"
        )
    (folder / "ward.yaml").write_text(POLICY)
    return load(folder / "ward.yaml")


def test_units_with_too_many_rows_or_values_are_counted_through_every_path(tmp_path: Path) -> None:
    policy = ward(
        tmp_path,
        patients="(1, 'F'), (1, 'F'), (2, 'M'), (2, 'F'), (3, NULL), (NULL, 'F'), (NULL, 'M')",
        visits="(11, 1, 'A'), (12, 1, 'B'), (13, 1, 'A'), (21, 2, 'A'), (22, 2, 'A'), (99, 9, 'A')",
        tests="(11), (11), (12), (13), (21), (21), (21), (99), (99), (99), (99)",
    )

    assert exceeded_promises(policy) == (
        "tables.patients.max_rows: 2 units with more rows: each of these rows counts less",
        "tables.patients.columns.sex.constant: 1 unit with several values: the least of each is taken",
        "tables.visits.max_rows: 1 unit with more rows: each of these rows counts less",
        "tables.visits.columns.ward.constant: 1 unit with several values: the least of each is taken",
        "tables.tests.max_rows: 1 unit with more rows: each of these rows counts less",
    )


def test_data_that_keeps_every_promise_has_nothing_to_report(tmp_path: Path) -> None:
    policy = ward(tmp_path, "(1, 'F'), (2, NULL)", "(11, 1, 'A'), (12, 1, NULL)", "(11), (11), (12)")

    assert exceeded_promises(policy) == ()
