"""The reference cases: what must be refused, what must be answered, at what price, with what noise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

import pytest

from dpsql import errors
from dpsql.engine.release import Release
from dpsql.plan.plan import Measurement, Plan
from dpsql.session import Session
from dpsql.sql.expression import Value, columns
from tests.reference.clinic import SENTINELS, Database, priced

ANSWERED_AT_LEAST: Final = 54
"""Of the 75 cases that may be answered, as many were when this was written."""


@dataclass(frozen=True)
class Case:
    """One line of cases.jsonl; README.md explains the fields."""

    id: str
    topic: str
    sql: str
    must: str
    why: str
    also: list[str] = field(default_factory=list)
    l1: list[float] = field(default_factory=list)
    measurements: dict[str, list[int]] = field(default_factory=dict)
    rows: int | None = None
    leak: str = ""

    @property
    def outcomes(self) -> set[str]:
        return {self.must, *self.also}

    @property
    def answerable(self) -> bool:
        return self.must != "refused"


@dataclass(frozen=True)
class Outcome:
    """What an analyst sees of one query, as far as it may not depend on any one patient."""

    kind: str
    message: str
    charges: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    keys: tuple[tuple[Value, ...], ...] = ()


def read_cases() -> list[Case]:
    text = Path(__file__).with_name("cases.jsonl").read_text(encoding="utf-8")
    fields: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
    return [Case(**each) for each in fields]


CASES: Final = read_cases()
ANSWERABLE: Final = [case for case in CASES if case.answerable]


def named(case: Case) -> str:
    return case.id


@pytest.fixture(scope="module")
def here(hospital: Database) -> Iterator[Session]:
    """One session for all cases: its budget has room for each of them once, and replays are free."""
    with hospital.session() as session:
        yield session


@pytest.fixture(scope="module")
def there(neighbour: Database) -> Iterator[Session]:
    with neighbour.session() as session:
        yield session


def outcome(session: Session, case: Case) -> tuple[Outcome, Release | None]:
    try:
        release = session.answer(case.sql)
    except errors.Error as refusal:
        return Outcome(type(refusal).__name__, str(refusal)), None
    paid = () if release.receipt is None else release.receipt.charges
    charges = tuple(f"{c.account} {c.epsilon} {c.delta} {c.event}" for c in paid)
    shown = tuple(f"{c.name} {c.type} {c.exact}" for c in release.columns)
    keys = public_keys(release) if not paid or fixed_rows(priced(session, case.sql)) else ()
    return Outcome("charged" if paid else "free", "", charges, shown, keys), release


def fixed_rows(plan: Plan) -> bool:
    """Whether keys and their order are public: no private key, and nothing decided by noisy values."""
    outer = plan.analysis.outer
    deciding = [term.expression for term in outer.order]
    deciding += [] if outer.having is None else [outer.having]
    noisy = any(column.name.startswith("m") for expression in deciding for column in columns(expression))
    return plan.analysis.partitioning.public and not noisy


def public_keys(release: Release) -> tuple[tuple[Value, ...], ...]:
    exact = [index for index, column in enumerate(release.columns) if column.exact]
    return tuple(tuple(row[index] for index in exact) for row in release.rows)


def kind_of(found: Outcome) -> str:
    return found.kind if found.kind in ("charged", "free") else "refused"


@pytest.mark.parametrize("case", CASES, ids=named)
def test_the_outcome_is_right_and_the_same_without_any_one_patient(
    case: Case, here: Session, there: Session
) -> None:
    found, release = outcome(here, case)
    found_there, _ = outcome(there, case)

    assert kind_of(found) in case.outcomes | ({"refused"} if case.answerable else set()), case.why
    assert found == found_there
    if release is not None and case.rows is not None:
        assert len(release.rows) == case.rows


@pytest.mark.parametrize("case", CASES, ids=named)
def test_a_refusal_costs_nothing_and_tells_of_nobody(case: Case, here: Session) -> None:
    before = here.budget()

    refusal = refused(here, case)

    if refusal is not None:
        told = str(refusal).lower()
        mentioned = [value for value in SENTINELS if value in told and value not in case.sql.lower()]
        assert mentioned == []
        assert here.budget() == before
        assert isinstance(refusal, errors.NotSupportedError | errors.ProgrammingError)


@pytest.mark.parametrize("case", ANSWERABLE, ids=named)
def test_a_case_that_is_not_answered_yet_is_refused_as_not_supported(case: Case, here: Session) -> None:
    """An analyst must be able to tell a limit of dpsql from a fault of the query."""
    refusal = refused(here, case)

    if refusal is not None:
        assert isinstance(refusal, errors.NotSupportedError)
        assert refusal.hint is not None or refusal.position is not None


def refused(session: Session, case: Case) -> errors.Error | None:
    try:
        session.answer(case.sql)
    except errors.Error as refusal:
        return refusal
    return None


def test_as_many_cases_are_answered_as_ever(here: Session) -> None:
    answered = [case.id for case in ANSWERABLE if kind_of(outcome(here, case)[0]) != "refused"]

    assert len(ANSWERABLE) == 75
    assert len(answered) >= ANSWERED_AT_LEAST, {named(case) for case in ANSWERABLE} - set(answered)


@pytest.mark.parametrize("case", [case for case in CASES if case.l1], ids=named)
def test_no_measurement_has_less_noise_than_the_true_sensitivity_asks_for(case: Case, here: Session) -> None:
    plan = explained(here, case)
    if plan is None:
        return

    found = [uncentred(plan, part) for part in plan.measurements]
    assert len(found) >= len(case.l1)
    for true, declared in zip(case.l1, found, strict=False):
        assert declared >= true
        assert declared <= 1.0001 * true, "more noise than needed"


def explained(session: Session, case: Case) -> Plan | None:
    try:
        return priced(session, case.sql)
    except errors.NotSupportedError:
        return None


def uncentred(plan: Plan, part: Measurement) -> float:
    """L1 as if the values were summed from 0; AVG sums them from the middle of their bounds."""
    grid = part.measure.grid
    if grid is None or grid.origin == 0:
        return part.l1
    moved = part.l1 + plan.analysis.rows.bound * float(abs(grid.origin) * grid.step)
    return max(moved, plan.analysis.rows.bound * float(max(abs(grid.lower), abs(grid.upper))))


@pytest.mark.parametrize("case", [case for case in CASES if case.measurements], ids=named)
def test_every_table_that_is_read_is_charged_and_so_is_the_unit(case: Case, here: Session) -> None:
    plan = explained(here, case)
    if plan is None:
        return

    accounts = {charge.account for charge in plan.charges}
    assert accounts == {"unit:patient", *(f"table:{table}" for table in case.measurements)}
    for least, most in case.measurements.values():
        assert least <= len(plan.measurements) <= most


def test_two_answers_of_one_query_in_two_sessions_differ(hospital: Database) -> None:
    """Two workers with the same noise would let neighbouring queries cancel it."""
    sql = "SELECT SUM(cost) FROM patients"

    with hospital.session() as first, hospital.session() as second:
        answers = {ask(session, sql) for session in (first, second)}

    assert len(answers) == 2


def ask(session: Session, sql: str) -> Value:
    return session.answer(sql).rows[0][0]


def test_the_noise_follows_a_parameter_that_sets_the_bounds(hospital: Database) -> None:
    """A plan that is kept for the first value would clip to the second with too little noise."""
    sql = "SELECT SUM(LEAST(cost, ?)) FROM patients"

    with hospital.session() as session:
        small, large = (session.explain(sql, (bound,)).measurements[0] for bound in (10, 50_000))

    assert (small.l1, large.l1) == (10.0, 50_000.0)
    assert Fraction(large.scale) / Fraction(small.scale) > 4000


def test_overlapping_predicates_are_charged_as_a_sum(hospital: Database) -> None:
    with hospital.session() as session:
        for where in ("= 'Alder'", "IN ('Alder', 'Birch')", "<> 'Birch'"):
            session.answer(f"SELECT COUNT(*) FROM patients WHERE hospital {where}")
        left = {state.account: state.rules["basic"] for state in session.budget()}

    assert left["table:patients"] == pytest.approx(1 - 0.3 / 10)
    assert left["unit:patient"] == pytest.approx(1 - 0.3 / 20)
