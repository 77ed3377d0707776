"""Attack: DuckDB reads a Python variable where a table is missing; let it read one of the proxy's.

"Replacement scans" find data frames and relations in the frames of the caller.
"""

from __future__ import annotations

import duckdb
import numpy as np
import pytest

from dpsql import errors
from dpsql.session import Session
from tests.reference.clinic import Database

stolen = {"cost": np.array([1.0, 2.0])}
exact = stolen
noise = stolen
arrived = stolen


@pytest.mark.parametrize("name", ["stolen", "exact", "noise", "arrived", "released", "inside"])
def test_a_variable_is_no_table(hospital: Database, name: str) -> None:
    inside = stolen
    assert inside is stolen

    with hospital.session() as session:
        session.answer("SELECT COUNT(*) FROM patients")
        for sql in (f"SELECT * FROM {name}", f"SELECT COUNT(*) FROM {name}"):
            with pytest.raises(errors.ProgrammingError) as refusal:
                session.answer(sql)
            assert refusal.value.code is errors.UNKNOWN_TABLE


@pytest.mark.parametrize("setting", ["python_enable_replacements", "enable_external_access"])
def test_no_database_of_a_session_reads_variables_or_files(hospital: Database, setting: str) -> None:
    with hospital.session() as session:
        for connection in databases(hospital, session):
            asked = f"SELECT current_setting('{setting}')"
            assert connection.execute(asked).fetchall() == [(False,)]


@pytest.mark.parametrize("hostile", ["SELECT * FROM stolen", "SELECT * FROM '/etc/passwd'", "SET threads=1"])
def test_no_database_of_a_session_runs_what_generated_sql_never_holds(
    hospital: Database, hostile: str
) -> None:
    """A second wall: were the analyst's text to reach an engine, these would fail there."""
    with hospital.session() as session:
        for connection in databases(hospital, session):
            with pytest.raises(duckdb.Error):
                connection.execute(hostile).fetchall()


def databases(hospital: Database, session: Session) -> list[duckdb.DuckDBPyConnection]:
    """The private database, the public facts, and where released values are shaped."""
    return [
        hospital.backend._connection,
        hospital.backend.facts._connection,
        session._postprocessor._connection,
    ]
