"""Attack: let the charge, the refusal or its time tell of the rows.

Haeberlen, Pierce, Narayan, USENIX Security 2011, "Differential privacy under fire".
"""

from __future__ import annotations

from contextlib import closing
from decimal import Decimal
from typing import NoReturn

import pytest

from dpsql import errors
from dpsql.engine.release import Relation
from dpsql.engine.rewrite import Program
from dpsql.ledger.receipt import Receipt
from dpsql.mechanisms import NoiseSource, Sampler
from dpsql.plan.plan import Plan
from dpsql.session import Session, Terms, open_ledger
from tests.reference.clinic import Database, Shared

QUERIES = [
    "SELECT diagnosis, COUNT(*) FROM patients GROUP BY diagnosis",
    "SELECT diagnosis, AVG(cost) FROM patients WHERE diagnosis = 'kuru' GROUP BY diagnosis",
    "SELECT COUNT(*) FROM patients WHERE patient_id = 1",
    "SELECT department, SUM(charge) FROM visits WHERE patient_id = 1 GROUP BY department",
    "SELECT day, COUNT(DISTINCT patient_id) FROM visits GROUP BY day",
]
LARGE = Terms(Decimal("0.3"))


class Tripwire(Shared):
    """A database that must not be read any more."""

    def measure(
        self, plan: Plan, program: Program, receipt: Receipt, cap_key: str, noise: NoiseSource
    ) -> Relation:
        raise AssertionError("rows were read")


def charged(session: Session, sql: str) -> list[str]:
    return [f"{c.account} {c.epsilon} {c.delta} {c.event}" for c in session.answer(sql).charges]


def spend_all(session: Session, sql: str) -> errors.BudgetExceeded:
    with pytest.raises(errors.BudgetExceeded) as refusal:
        ask_for_ever(session, sql)
    return refusal.value


def ask_for_ever(session: Session, sql: str) -> NoReturn:
    number = 0
    while True:
        number += 1
        session.answer(f"{sql} {number}", (), LARGE)


@pytest.mark.parametrize("sql", QUERIES)
def test_a_charge_is_the_same_whoever_is_in_the_data(
    hospital: Database, neighbour: Database, sql: str
) -> None:
    with hospital.session() as here, neighbour.session() as there:
        assert charged(here, sql) == charged(there, sql)
        assert [s.rules for s in here.budget()] == [s.rules for s in there.budget()]


def test_a_refusal_is_the_same_whoever_is_in_the_data(hospital: Database, neighbour: Database) -> None:
    """It is decided after answers that differ, but by prices alone."""
    with hospital.session() as here, neighbour.session() as there:
        refusals = [
            spend_all(session, "SELECT COUNT(*) FROM patients WHERE age >") for session in (here, there)
        ]

    assert str(refusals[0]) == str(refusals[1])
    assert refusals[0].account == "table:patients"
    assert refusals[0].largest_epsilon is not None


def test_a_refusal_reads_nothing_and_costs_nothing(hospital: Database) -> None:
    ledger = open_ledger(hospital.policy, hospital.backend.facts.digest, ":memory:")
    rich = Session(hospital.policy, ledger, Shared(hospital.backend), "ann", Sampler())
    spend_all(rich, "SELECT COUNT(*) FROM patients WHERE age >")
    before = rich.budget()
    entries = sum(1 for _ in ledger.entries())

    poor = Session(hospital.policy, ledger, Tripwire(hospital.backend), "bob", Sampler())
    with closing(poor):
        with pytest.raises(errors.BudgetExceeded):
            poor.answer("SELECT AVG(cost) FROM patients", (), LARGE)
        assert poor.budget() == before
        assert sum(1 for _ in ledger.entries()) == entries


def test_the_tripwire_trips(hospital: Database) -> None:
    """The test above would pass for the wrong reason with a database that nobody asks."""
    ledger = open_ledger(hospital.policy, hospital.backend.facts.digest, ":memory:")
    session = Session(hospital.policy, ledger, Tripwire(hospital.backend), "ann", Sampler())

    with closing(session), pytest.raises(AssertionError, match="rows were read"):
        session.answer("SELECT COUNT(*) FROM patients")


def test_analysts_who_collude_share_one_budget(hospital: Database) -> None:
    """Each patient is promised one limit, not one for each analyst."""
    ledger = open_ledger(hospital.policy, hospital.backend.facts.digest, ":memory:")
    ann, bob = (
        Session(hospital.policy, ledger, Shared(hospital.backend), name, Sampler()) for name in ("ann", "bob")
    )

    spend_all(ann, "SELECT COUNT(*) FROM patients WHERE age >")
    with closing(bob), pytest.raises(errors.BudgetExceeded) as refusal:
        bob.answer("SELECT AVG(age) FROM patients", (), LARGE)

    assert refusal.value.account == "table:patients"
    ann.close()


def test_a_price_is_known_without_reading_a_row(hospital: Database) -> None:
    ledger = open_ledger(hospital.policy, hospital.backend.facts.digest, ":memory:")
    session = Session(hospital.policy, ledger, Tripwire(hospital.backend), "ann", Sampler())

    with closing(session):
        before = session.budget()
        plans = [session.explain(sql) for sql in QUERIES]
        assert all(plan.charges for plan in plans)
        assert session.budget() == before
