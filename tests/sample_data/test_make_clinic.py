"""Does the invented clinic hold what the demo and the tests lean on?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from sample_data.make_clinic import ABSURD_BILL, ABSURD_BILL_OF, RARE_DIAGNOSIS, build, people


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    path = build(tmp_path_factory.mktemp("clinic") / "clinic.duckdb")
    with duckdb.connect(str(path), read_only=True) as connection:
        yield connection


def value(connection: duckdb.DuckDBPyConnection, sql: str) -> object:
    row = connection.execute(sql).fetchone()
    assert row is not None
    return row[0]


def test_every_build_draws_the_same_rows() -> None:
    assert people() == people()
    assert people(seed=1) != people(seed=2)


def test_the_clinic_has_five_hospitals_and_three_thousand_patients(
    clinic: duckdb.DuckDBPyConnection,
) -> None:
    assert value(clinic, "SELECT count(*) FROM hospitals") == 5
    assert value(clinic, "SELECT count(*) FROM patients") == 3_000
    assert value(clinic, "SELECT count(DISTINCT hospital) FROM patients") == 5


def test_some_patients_come_far_more_often_than_a_bound_of_twenty(clinic: duckdb.DuckDBPyConnection) -> None:
    visits = clinic.execute(
        "SELECT count(*) AS n FROM visits WHERE patient_id IS NOT NULL GROUP BY patient_id ORDER BY n DESC"
    ).fetchall()

    assert visits[0][0] > 150
    assert sum(n > 20 for (n,) in visits) >= 10


def test_some_ages_and_some_owners_of_visits_are_unknown(clinic: duckdb.DuckDBPyConnection) -> None:
    assert value(clinic, "SELECT count(*) BETWEEN 30 AND 120 FROM patients WHERE age IS NULL")
    assert value(clinic, "SELECT count(*) BETWEEN 30 AND 200 FROM visits WHERE patient_id IS NULL")


def test_one_bill_is_absurd_and_one_diagnosis_points_to_one_patient(
    clinic: duckdb.DuckDBPyConnection,
) -> None:
    costs = clinic.execute("SELECT cost, patient_id FROM patients ORDER BY cost DESC LIMIT 2").fetchall()
    charges = clinic.execute("SELECT charge, patient_id FROM visits ORDER BY charge DESC LIMIT 2").fetchall()

    assert costs[0] == charges[0] == (ABSURD_BILL, ABSURD_BILL_OF)
    assert costs[1][0] < 50_000
    assert charges[1][0] < 10_000
    assert value(clinic, f"SELECT count(*) FROM patients WHERE diagnosis = '{RARE_DIAGNOSIS}'") == 1


def test_every_day_and_department_is_in_the_domain_of_the_policy(clinic: duckdb.DuckDBPyConnection) -> None:
    assert (
        value(clinic, "SELECT count(*) FROM visits WHERE day NOT BETWEEN '2024-01-01' AND '2024-12-31'") == 0
    )
    assert value(clinic, "SELECT count(DISTINCT department) FROM visits") == 6


@pytest.mark.parametrize(
    "row",
    [
        "INSERT INTO hospitals VALUES ('Elm', 'Nowhere', 1)",
        "INSERT INTO patients VALUES (1, 'Elm', 'F', 30, 'flu', 1.0)",
        "INSERT INTO patients VALUES (NULL, 'Elm', 'F', 30, 'flu', 1.0)",
    ],
)
def test_the_database_itself_keeps_keys_unique_and_present(tmp_path: Path, row: str) -> None:
    path = build(tmp_path / "clinic.duckdb")

    with duckdb.connect(str(path)) as connection, pytest.raises(duckdb.ConstraintException):
        connection.execute(row)


def test_a_build_replaces_the_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "clinic.duckdb"
    target.write_text("not a database")

    build(target)

    assert [path.name for path in tmp_path.iterdir()] == ["clinic.duckdb"]
    with duckdb.connect(str(target), read_only=True) as connection:
        assert value(connection, "SELECT count(*) FROM patients") == 3_000
