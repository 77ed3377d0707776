"""Who pays for a query, and with which numbers."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import dpsql
from dpsql import errors
from dpsql.errors import BudgetExceeded, PolicyRefused
from dpsql.mechanisms import Sampler
from dpsql.plan.plan import Plan
from dpsql.session import Session, Terms
from tests.soundness.registry import connected, edited, opened, row, write

ONE = Terms(epsilon=Decimal(1))
TWO_ANALYSTS = (
    "tables:\n",
    "analysts: {alice: {epsilon: 1, delta: 0}, bob: {epsilon: 9, delta: 0}}\ntables:\n",
)


def visits(people: int = 3) -> list[tuple[object, ...]]:
    return [row("visits", person_id=unit) for unit in range(people)]


def test_a_query_charges_the_unit_and_every_private_table_on_the_way_to_it(tmp_path: Path) -> None:
    """Without the parents' accounts, a table that only says whose a row is would be read for free."""
    session = opened(write(tmp_path))

    plan = session.explain("SELECT kind, COUNT(*) FROM samples GROUP BY kind")

    assert [c.account for c in plan.charges] == ["table:samples", "table:labs", "table:visits", "unit:person"]
    assert len({c.event for c in plan.charges}) == 1
    session.close()


def test_a_unit_account_is_the_sum_of_the_tables_where_none_is_declared(tmp_path: Path) -> None:
    """Without it, a person with rows in several tables would have no account of its own."""
    tables = [("{epsilon: 50, delta: 1.0e-3}", "{epsilon: 2, delta: 1.0e-6}")] * 6
    policy = edited(tmp_path, *tables, ("budget: {epsilon: 2, delta: 1.0e-6}\nper_query", "per_query"))

    assert policy.unit_budget().epsilon == 5 * 2
    assert policy.unit_budget().delta == 5 * Decimal("1e-6")


def test_an_analyst_account_is_a_quota_and_the_unit_account_counts_all_analysts(tmp_path: Path) -> None:
    """If each analyst had a unit account of its own, two of them together would learn twice as much."""
    write(tmp_path, visits=visits())
    policy, ledger = edited(tmp_path, TWO_ANALYSTS), tmp_path / "ledger.db"
    alice, bob = opened(policy, ledger, "alice"), opened(policy, ledger, "bob")

    alice.answer("SELECT COUNT(*) FROM visits", terms=ONE)
    with pytest.raises(BudgetExceeded) as refused:
        alice.answer("SELECT SUM(charge) FROM visits", terms=ONE)
    bob.answer("SELECT SUM(charge) FROM visits", terms=ONE)

    assert refused.value.account == "analyst:alice"
    rest = {state.account: state.rules for state in bob.budget()}
    assert rest["unit:person"]["basic"] == pytest.approx(1 - 2 / 50)
    assert rest["analyst:bob"]["basic"] == pytest.approx(1 - 1 / 9)
    alice.close()
    bob.close()


def test_a_refused_query_leaves_every_account_as_it_was(tmp_path: Path) -> None:
    """All accounts pay or none: otherwise refusals would use up the accounts of others."""
    write(tmp_path, visits=visits())
    session = opened(edited(tmp_path, TWO_ANALYSTS), analyst="alice")
    session.answer("SELECT COUNT(*) FROM visits", terms=ONE)
    before = session.budget()

    with pytest.raises(BudgetExceeded):
        session.answer("SELECT SUM(charge) FROM visits", terms=ONE)

    assert session.budget() == before
    session.close()


# --- data version and replay ------------------------------------------------------------------------------

COUNT = "SELECT COUNT(*), SUM(charge) FROM visits"


def reopened(folder: Path, version: int) -> Session:
    policy = edited(folder, ("id: registry", f"id: registry\ndata_version: {version}"))
    return opened(policy, folder / "ledger.db", noise=Sampler())


def test_new_rows_are_asked_anew_only_when_the_owner_says_so(tmp_path: Path) -> None:
    """A version taken from the data would tell, by the price of a repeated query, whether rows arrived."""
    write(tmp_path, visits=visits(3))
    first = reopened(tmp_path, 1)
    asked = first.answer(COUNT)
    first.close()
    write(tmp_path, visits=visits(900))

    again, later = reopened(tmp_path, 1), reopened(tmp_path, 2)
    replayed, renewed = again.answer(COUNT), later.answer(COUNT)

    assert replayed.replayed
    assert (replayed.rows, replayed.charges) == (asked.rows, ())
    assert not renewed.replayed
    assert renewed.charges == asked.charges
    again.close()
    later.close()


def test_new_data_never_refills_a_budget(tmp_path: Path) -> None:
    """The promise is for ever: it covers all versions of the data together."""
    write(tmp_path, visits=visits())
    first = reopened(tmp_path, 1)
    first.answer(COUNT)
    before = first.budget()
    first.close()

    second = reopened(tmp_path, 2)

    assert second.budget() == before
    second.close()


@pytest.mark.parametrize(
    "terms", [Terms(epsilon=Decimal("0.5")), Terms(epsilon=Decimal(1), delta=Decimal("1e-7"))]
)
def test_another_price_is_another_query(tmp_path: Path, terms: Terms) -> None:
    """A replay under another price would hand out noise that the price does not fit."""
    session = opened(write(tmp_path, visits=visits()))
    session.answer("SELECT note, COUNT(*) FROM visits GROUP BY note")

    assert not session.answer("SELECT note, COUNT(*) FROM visits GROUP BY note", terms=terms).replayed
    session.close()


# --- numbers ------------------------------------------------------------------------------------------------


def test_a_bare_percentage_is_refused_and_one_of_a_public_number_is_priced(tmp_path: Path) -> None:
    """A percentage of the true answer would make the price depend on the data."""
    session = opened(write(tmp_path, visits=visits()))
    connection = connected(session)

    with pytest.raises(PolicyRefused) as refused:
        connection.explain("SELECT COUNT(*) FROM visits", error="5%")
    few = connection.explain("SELECT COUNT(*) FROM visits", error="5% of 400")
    session.close()
    (tmp_path / "other").mkdir()
    other = opened(write(tmp_path / "other", visits=visits(999)))
    many = connected(other).explain("SELECT COUNT(*) FROM visits", error="5% of 400")

    assert refused.value.code is errors.UNSAFE_NUMBER
    assert isinstance(few, Plan)
    assert isinstance(many, Plan)
    assert few.price == many.price
    assert few.measurements[0].error <= 20
    other.close()


EPSILONS = [
    "nan",
    "inf",
    "-inf",
    "0",
    "-1",
    "-0.0",
    "1e-7",
    "50.1",
    "1e400",
    "sNaN",
    float("nan"),
    -1,
    0,
    "x",
]
DELTAS = ["nan", "inf", "-1e-9", "1", "1.5", "1e-21", "sNaN", float("inf"), "-0.1", "x"]


@pytest.mark.parametrize(
    "terms", [{"epsilon": e} for e in EPSILONS] + [{"epsilon": 1, "delta": d} for d in DELTAS], ids=str
)
def test_a_number_that_no_account_can_carry_is_refused_before_anything_is_charged(
    tmp_path: Path, terms: dict[str, Any]
) -> None:
    """A NaN, a negative or a vanishing charge would pass a filter and leave the account as full as before."""
    session = opened(write(tmp_path))
    before = session.budget()

    with pytest.raises(dpsql.Error):
        connected(session).execute("SELECT note, COUNT(*) FROM visits GROUP BY note", **terms)

    assert session.budget() == before
    session.close()
