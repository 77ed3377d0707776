"""The plan says which noise, how much of it, and who pays; before a row is read."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import pytest

from dpsql import errors
from dpsql.accounting.event import Composed, DiscreteGaussian, DiscreteLaplace, Threshold
from dpsql.plan.plan import Plan
from dpsql.session import Session, Terms
from tests.golden.register import register
from tests.reference.clinic import Database, priced

COUNT = "SELECT COUNT(*) FROM patients"
PRIVATE = "SELECT diagnosis, COUNT(*), SUM(age) FROM patients GROUP BY diagnosis"
MANY = f"SELECT {', '.join(f'COUNT_IF(age > {age})' for age in range(40))} FROM patients"


@pytest.fixture(scope="module")
def session(hospital: Database) -> Iterator[Session]:
    with hospital.session() as opened:
        yield opened


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with (
        register(tmp_path_factory.mktemp("register")) as database,
        database.session(analyst="alice") as opened,
    ):
        yield opened


def at(session: Session, sql: str, epsilon: str, delta: str | None = None, error: str | None = None) -> Plan:
    return priced(session, sql, Terms(Decimal(epsilon), None if delta is None else Decimal(delta), error))


def test_a_laplace_scale_is_the_sensitivity_over_the_share_of_epsilon(session: Session) -> None:
    one = at(session, COUNT, "0.5").measurements[0]
    two = at(session, "SELECT COUNT(*), SUM(age) FROM patients", "0.5").measurements

    assert (one.mechanism, one.scale) == ("laplace", 2.0)
    assert [part.scale for part in two] == [4.0, 440.0]


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1"])
def test_the_stated_error_holds_the_noise_in_95_of_100_draws(session: Session, epsilon: str) -> None:
    part = at(session, COUNT, epsilon).measurements[0]

    assert part.error == pytest.approx(part.scale * math.log(20), rel=0.01)


def test_few_columns_get_laplace_and_many_get_gaussian(session: Session) -> None:
    few, many = at(session, COUNT, "0.5", "1e-6"), at(session, MANY, "0.5", "1e-6")

    assert isinstance(few.charges[0].event, DiscreteLaplace)
    assert isinstance(many.charges[0].event, DiscreteGaussian)
    assert {part.mechanism for part in many.measurements} == {"gaussian"}


def test_a_gaussian_vector_has_the_joint_sensitivity_that_is_charged(session: Session) -> None:
    plan = at(session, MANY, "0.5", "1e-6")
    event = plan.charges[0].event

    loss = math.fsum((part.l2 / part.scale) ** 2 for part in plan.measurements)
    assert isinstance(event, DiscreteGaussian)
    assert event.mu2 == pytest.approx(loss, rel=1e-6)
    assert event.mu2 >= loss * (1 - 1e-12)


def test_delta_zero_leaves_laplace_only(session: Session) -> None:
    plan = at(session, MANY, "0.5", "0")

    assert {part.mechanism for part in plan.measurements} == {"laplace"}
    assert all(charge.delta == 0 for charge in plan.charges)


def test_private_keys_pay_their_delta_for_the_threshold(session: Session) -> None:
    plan = at(session, PRIVATE, "1", "1e-6")
    event = plan.charges[0].event

    assert isinstance(event, Composed)
    assert Threshold(Decimal("1e-6")) in event.events
    assert plan.threshold_units is not None
    assert plan.threshold_units > 1 + math.log(1e6) / 2


def test_a_threshold_falls_with_epsilon_and_rises_as_delta_shrinks(session: Session) -> None:
    units = [
        at(session, PRIVATE, *price).threshold_units
        for price in (("1", "1e-6"), ("0.5", "1e-6"), ("1", "1e-9"))
    ]

    assert units[0] is not None
    assert units[1] is not None
    assert units[2] is not None
    assert units[0] < units[1]
    assert units[0] < units[2]


def test_private_keys_without_delta_are_refused(session: Session) -> None:
    with pytest.raises(errors.PolicyRefused) as refusal:
        at(session, PRIVATE, "1", "0")

    assert refusal.value.code is errors.PRIVATE_KEYS_NEED_DELTA


def test_every_table_on_the_way_the_unit_and_the_analyst_pay(session: Session, shop: Session) -> None:
    visits = at(session, "SELECT COUNT(*) FROM visits", "0.1").charges
    items = at(shop, "SELECT COUNT(*) FROM items", "0.1").charges

    assert [charge.account for charge in visits] == ["table:visits", "unit:patient"]
    assert [charge.account for charge in items] == [
        "table:items",
        "table:orders",
        "unit:member",
        "analyst:alice",
    ]
    assert len({charge.event for charge in items}) == 1, "each pays the whole event"


def test_the_digest_is_that_of_the_law_of_the_answer(session: Session) -> None:
    base = at(session, COUNT, "0.1")

    assert at(session, "select count( * ) from PATIENTS p", "0.1").measurements[0].scale == 10.0
    assert at(session, COUNT, "0.1").digest == base.digest
    assert at(session, COUNT, "0.2").digest != base.digest
    assert at(session, f"{COUNT} WHERE age > 3", "0.1").digest != base.digest


@pytest.mark.parametrize(
    ("epsilon", "delta", "code"),
    [
        ("1.01", "0", "DP210"),
        ("0", "0", "DP215"),
        ("-1", "0", "DP215"),
        ("1e-7", "0", "DP215"),
        ("NaN", "0", "DP215"),
        ("Infinity", "0", "DP215"),
        ("0.1", "1", "DP215"),
        ("0.1", "-1e-9", "DP215"),
        ("0.1", "1e-21", "DP215"),
        ("0.1", "NaN", "DP215"),
    ],
)
def test_a_price_that_cannot_be_accounted_for_is_refused(
    session: Session, epsilon: str, delta: str, code: str
) -> None:
    with pytest.raises(errors.PolicyRefused) as refusal:
        at(session, COUNT, epsilon, delta)

    assert refusal.value.code.name == code


def test_a_plan_shows_what_it_would_leave(session: Session) -> None:
    plan = at(session, COUNT, "0.5")
    outlook = {each.account: each for each in plan.outlook}

    assert outlook["table:patients"].rules["basic"] == pytest.approx(0.95)
    assert outlook["table:patients"].more >= 19
    assert outlook["unit:patient"].rules["basic"] == pytest.approx(0.975)


def test_a_plan_reads_well_and_serialises(session: Session) -> None:
    plan = at(session, PRIVATE, "1", "1e-6")

    text, fields = str(plan), plan.to_dict()

    assert "nothing has been read or spent" in text
    assert "SUM(age)" in text
    assert plan.sql in text
    assert "$cap_key" in text, "the secret's name stands for it"
    assert fields["sql"] == plan.sql
    assert fields["epsilon"] == "1"
