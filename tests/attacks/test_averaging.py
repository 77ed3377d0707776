"""Attack: repeat one query and average the noise away."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from dpsql import errors
from dpsql.engine.release import Release
from dpsql.session import Session, Terms
from tests.reference.clinic import Database

QUERY = "SELECT hospital, COUNT(*) AS n FROM patients WHERE age > 50 GROUP BY hospital"
SPELLINGS = [
    QUERY,
    "select HOSPITAL as hospital, count( * ) n from PATIENTS /* again */ where AGE > 50 group by 1;",
    "SELECT p.hospital, COUNT(*) AS n FROM patients p WHERE p.age > 50 GROUP BY ALL",
    "SELECT hospital, COUNT(*) AS n FROM patients WHERE (50 < age) GROUP BY hospital",
    "SELECT hospital, COUNT(1) AS n FROM patients WHERE age > 50 GROUP BY hospital",
]


def spent(session: Session) -> dict[str, float]:
    return {state.account: 1 - state.rules["basic"] for state in session.budget()}


@pytest.mark.parametrize("again", SPELLINGS[:2])
def test_the_same_query_gets_the_same_answer_at_no_charge(hospital: Database, again: str) -> None:
    with hospital.session() as session:
        first = session.answer(QUERY)
        before = spent(session)

        repeats = [session.answer(again) for _ in range(5)]

        assert all(repeat.rows == first.rows and repeat.replayed for repeat in repeats)
        assert all(repeat.charges == () for repeat in repeats)
        assert spent(session) == before


@pytest.mark.parametrize("again", SPELLINGS[2:])
def test_a_query_in_other_words_is_the_same_or_is_charged_as_another(hospital: Database, again: str) -> None:
    """Never free with fresh noise, which is what averaging needs."""
    with hospital.session() as session:
        first = session.answer(QUERY)
        before = spent(session)

        second = session.answer(again)

        fresh = second.rows != first.rows
        assert fresh == (not second.replayed) == (spent(session) != before)


def test_answers_are_repeated_over_sessions_and_analysts(hospital: Database, tmp_path: Path) -> None:
    answers: list[Release] = []
    for analyst in ("ann", "bob", "ann"):
        with hospital.session(ledger=tmp_path / "clinic.ledger.db", analyst=analyst) as session:
            answers.append(session.answer(QUERY))

    assert [answer.replayed for answer in answers] == [False, True, True]
    assert all(answer.rows == answers[0].rows for answer in answers)


def test_another_price_buys_another_answer(hospital: Database) -> None:
    with hospital.session() as session:
        first = session.answer(QUERY, (), Terms(Decimal("0.1")))
        second = session.answer(QUERY, (), Terms(Decimal("0.100000001")))

        assert not second.replayed
        assert spent(session)["table:patients"] == pytest.approx(0.2 / 10, rel=1e-6)
        assert second.rows != first.rows


def test_a_constant_that_varies_spends_the_budget_until_none_is_left(hospital: Database) -> None:
    """`age > 50`, `age > 50.0001`, ... are one question with fresh noise; each costs its full price."""
    asked = 0

    def vary(session: Session) -> None:
        nonlocal asked
        for asked in range(200):
            sql = f"SELECT COUNT(*) FROM patients WHERE age > 50.{asked:04}"
            session.answer(sql, (), Terms(Decimal("0.5")))

    with hospital.session() as session, pytest.raises(errors.BudgetExceeded) as refused:
        vary(session)

    assert refused.value.account == "table:patients"
    # Basic composition alone admits 20; the other rules may admit more, never as many as averaging needs.
    assert 20 <= asked < 60


def test_three_aggregates_of_one_query_share_one_draw(hospital: Database) -> None:
    with hospital.session() as session:
        sql = "SELECT COUNT(*), COUNT(*) AS again, COUNT(*) + 0 AS third FROM patients"
        plan = session.explain(sql)
        row = session.answer(sql).rows[0]

    assert len(plan.measurements) == 1
    assert len(set(row)) == 1
