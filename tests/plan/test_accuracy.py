"""A wanted error buys the cheapest plan that reaches it."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest

from dpsql import errors
from dpsql.plan.accuracy import Wish
from dpsql.plan.plan import Plan
from dpsql.session import Session, Terms
from tests.reference.clinic import Database, priced

SQL = "SELECT sex, COUNT(*) AS n, SUM(age) AS years FROM patients GROUP BY sex"


@pytest.fixture(scope="module")
def session(hospital: Database) -> Iterator[Session]:
    with hospital.session() as opened:
        yield opened


def wanted(session: Session, wish: Wish, sql: str = SQL) -> Plan:
    return priced(session, sql, Terms(error=wish))


@pytest.mark.parametrize("wish", ["±50", "50", "+-50", "+/- 50", "± 5e1", "12.5% of 400"])
def test_a_half_width_binds_the_first_noisy_column(session: Session, wish: str) -> None:
    plan = wanted(session, wish)

    assert plan.measurements[0].half_width <= 50
    assert plan.price.epsilon == wanted(session, "±50").price.epsilon


def test_the_price_is_the_smallest_to_three_digits(session: Session) -> None:
    plan = wanted(session, "±50")
    less = priced(session, SQL, Terms(plan.price.epsilon - Decimal("0.001") * plan.price.epsilon * 10))

    assert less.measurements[0].half_width > 50
    assert len(plan.price.epsilon.normalize().as_tuple().digits) <= 3


def test_a_smaller_error_costs_more(session: Session) -> None:
    prices = [wanted(session, wish).price.epsilon for wish in ("±200", "±100", "±50", "±25")]

    assert prices == sorted(set(prices))


def test_each_named_column_gets_its_own_error(session: Session) -> None:
    plan = wanted(session, {"n": "±40", "YEARS": "±2500"})

    count, years = plan.measurements
    assert count.half_width <= 40
    assert years.half_width <= 2500
    assert years.error > 2400 or count.error > 39, "one of them decides the price"


@pytest.mark.parametrize(
    "wish",
    [
        "5%",
        "±5%",
        "5 % of",
        "±",
        "±0",
        "0% of 400",
        "±-3",
        "±nan",
        "±inf",
        "±1e999",
        "a bit",
        "",
        {"m": "±5"},
    ],
)
def test_a_wish_without_a_public_meaning_is_refused(session: Session, wish: Wish) -> None:
    """Five percent of the true answer would make the price depend on the data."""
    with pytest.raises(errors.PolicyRefused) as refusal:
        wanted(session, wish)

    assert refusal.value.code is errors.UNSAFE_NUMBER
    assert refusal.value.hint is not None


def test_an_average_has_no_plain_error(session: Session) -> None:
    with pytest.raises(errors.PolicyRefused, match="no plain COUNT or SUM"):
        wanted(session, "±5", "SELECT AVG(age) FROM patients")


def test_an_error_beyond_the_cap_of_a_query_is_refused(session: Session) -> None:
    with pytest.raises(errors.PolicyRefused) as refusal:
        wanted(session, "±1")

    assert refusal.value.code is errors.OVER_CAP


def test_a_wish_spends_nothing_until_it_is_asked(session: Session) -> None:
    before = session.budget()
    wanted(session, "±50")
    assert session.budget() == before

    release = session.answer(SQL, (), Terms(error="±50"))

    assert release.columns[1].error is not None
    assert release.columns[1].error <= 50
