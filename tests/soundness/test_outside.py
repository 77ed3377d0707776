"""What happens around a query: the source changes, a run fails."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest

from dpsql import errors
from dpsql.analysis.analysis import analyse
from dpsql.errors import EngineFailure, PolicyError, PolicyRefused
from dpsql.mechanisms.sampler import SilentSampler
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from tests.soundness.registry import opened, row, write, write_parquet

CITIES = "SELECT city, COUNT(*) FROM patients JOIN hospitals USING (hospital) GROUP BY city"


def new_hospital(folder: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 'Elm' AS hospital, 'Elsewhere' AS city, 1::BIGINT AS beds)"
            f" TO '{folder / 'files' / 'hospitals'}.parquet' (FORMAT parquet)"
        )


def test_a_public_table_that_changes_does_not_reach_an_open_session(tmp_path: Path) -> None:
    """A domain that follows a live table would tell of patients as soon as the table follows them."""
    session = opened(write_parquet(tmp_path, patients=[row("patients", person_id=1)]))
    new_hospital(tmp_path)

    assert session.answer(CITIES).rows == [("North", 1), ("South", 0), ("Void", 0)]
    assert session.answer("SELECT city FROM hospitals WHERE beds = 1").rows == [("Void",)]
    session.close()


def test_a_public_table_that_has_changed_is_another_policy_to_the_ledger(tmp_path: Path) -> None:
    """Otherwise whoever may write a public table decides about groups and fan-out."""
    policy = write_parquet(tmp_path)
    opened(policy, tmp_path / "ledger.db").close()
    new_hospital(tmp_path)

    with pytest.raises(PolicyError) as refused:
        opened(policy, tmp_path / "ledger.db")

    assert refused.value.code is errors.POLICY_CHANGED


@pytest.mark.parametrize(("writer", "certain"), [(write, True), (write_parquet, False)])
def test_one_row_a_person_is_believed_only_where_the_database_enforces_it(
    tmp_path: Path, writer: Any, certain: bool
) -> None:
    """A file enforces nothing: a key that repeats in it would let one person count as often as it likes."""
    session = opened(writer(tmp_path))
    query = resolve(parse("SELECT COUNT(*) FROM members"), session.policy)

    analysis = analyse(query, session.policy, session._backend.facts)

    assert analysis.owner.single is certain
    assert analysis.weighted is not certain
    session.close()


# --- failures -----------------------------------------------------------------------------------------------


class Failing(SilentSampler):
    """A source of noise that breaks, with a row's value in its message."""

    def discrete_laplace(self, scale: Fraction, size: int) -> Any:
        raise ValueError("the value 4711 of patient 1 is too large")


def failure(session: Any, sql: str) -> EngineFailure:
    with pytest.raises(EngineFailure) as failed:
        session.answer(sql)
    return failed.value


def test_every_failed_run_has_the_same_message(tmp_path: Path) -> None:
    """An engine's message quotes values of rows."""
    policy = write_parquet(tmp_path, visits=[row("visits", person_id=1)])
    broken, gone = opened(policy, noise=Failing()), opened(policy)

    first = failure(broken, "SELECT COUNT(*) FROM visits")
    (tmp_path / "files" / "visits.parquet").unlink()
    second = failure(gone, "SELECT SUM(charge) FROM visits")

    assert str(first) == str(second)
    assert "4711" not in str(first)
    assert (first.__cause__, second.__cause__) == (None, None)
    broken.close()
    gone.close()


def test_a_failed_run_keeps_its_charge(tmp_path: Path) -> None:
    """Whether a run fails can depend on a row; a refund would let the analyst ask for ever."""
    session = opened(write(tmp_path, visits=[row("visits", person_id=1)]), noise=Failing())
    before = {state.account: state.rules["basic"] for state in session.budget()}

    failure(session, "SELECT COUNT(*) FROM visits")

    after = {state.account: state.rules["basic"] for state in session.budget()}
    assert after["unit:person"] < before["unit:person"]
    assert after["table:visits"] < before["table:visits"]
    assert after["table:patients"] == before["table:patients"]
    session.close()


@pytest.mark.parametrize("breaks", ["the engine", "the noise"])
def test_after_five_failed_runs_an_analyst_is_refused(tmp_path: Path, breaks: str) -> None:
    """Each failure may be a bit of the data: their number is bounded."""
    policy = write_parquet(tmp_path, visits=[row("visits", person_id=1)])
    session = opened(policy, noise=Failing() if breaks == "the noise" else None)
    if breaks == "the engine":
        (tmp_path / "files" / "visits.parquet").unlink()
    for bound in range(5):
        failure(session, f"SELECT COUNT(*) FROM visits WHERE charge > {bound}")

    with pytest.raises(PolicyRefused) as refused:
        session.answer("SELECT COUNT(*) FROM visits")

    assert refused.value.code is errors.ANALYST_LOCKED
    session.close()
