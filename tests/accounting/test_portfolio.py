from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting import (
    Approximate,
    Composed,
    DiscreteGaussian,
    DiscreteLaplace,
    Event,
    Exponential,
    Gaussian,
    Portfolio,
    Pure,
    Threshold,
    check_step,
)
from dpsql.accounting.composition import optimal_delta
from dpsql.accounting.conversion import delta_gdp, rdp_budget
from dpsql.accounting.filters import Additive, Basic, Renyi, Residue
from dpsql.accounting.residue import v_needed
from tests.accounting.strategies import BUDGETS, EVENTS, SHARES

ONE = Decimal(1)
MILLIONTH = Decimal("1e-6")
TENTH = Decimal("0.1")


def _run(account: Portfolio, events: Sequence[Event]) -> Portfolio:
    """The account after the events; refused ones are left out."""
    for event in events:
        account = account.step(event) or account
    return account


def _rule(account: Portfolio, name: str) -> Basic | Residue | Additive:
    return next(rule for rule in account.live if rule.name == name)


# opening


def test_a_fresh_account_has_three_untouched_rules_and_its_slack() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)

    assert account.rules() == {"basic": 1.0, "residue": 1.0, "rdp": 1.0, "slack": 1.0}
    assert account.alive == {"basic", "residue", "rdp"}


def test_the_shares_of_delta_add_up_to_the_budget() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)
    residue, rdp = _rule(account, "residue"), _rule(account, "rdp")
    assert isinstance(residue, Residue)
    assert isinstance(rdp, Additive)
    assert isinstance(rdp.currency, Renyi)

    spent = delta_gdp(1.0, residue.budget**0.5)
    room = rdp_budget(rdp.currency.alpha, 1.0, 0.9e-7)

    assert account.slack.budget == Decimal("1e-7")
    assert spent == pytest.approx(8.1e-7, rel=1e-9)
    assert rdp.budget == pytest.approx(room, rel=1e-12)


def test_an_account_without_delta_adds_up_epsilons_only() -> None:
    account = Portfolio.open(ONE, Decimal(0))

    assert account.alive == {"basic"}
    assert account.rules() == {"basic": 1.0}
    assert account.step(Gaussian(1e-6)) is None
    assert account.step(Threshold(Decimal("1e-20"))) is None
    assert account.step(Threshold(Decimal(0))) is not None


@pytest.mark.parametrize(
    ("epsilon", "delta", "share"),
    [
        ("0", "1e-6", "0"),
        ("-1", "1e-6", "0"),
        ("NaN", "1e-6", "0"),
        ("Infinity", "1e-6", "0"),
        ("1", "NaN", "0"),
        ("1", "-1e-9", "0"),
        ("1", "1", "0"),
        ("1", "1e-6", "1"),
        ("1", "1e-6", "-0.1"),
        ("1", "1e-6", "NaN"),
        ("80", "1e-6", "0"),
        ("800", "1e-6", "0"),
        ("1e300", "1e-6", "0"),
        ("1", "1e-300", "0"),
    ],
)
def test_a_budget_that_cannot_be_guarded_is_refused(epsilon: str, delta: str, share: str) -> None:
    with pytest.raises(ValueError, match=r"budget|share"):
        Portfolio.open(Decimal(epsilon), Decimal(delta), slack_share=Decimal(share))


def test_the_largest_budget_still_opens() -> None:
    assert Portfolio.open(Decimal(50), MILLIONTH).alive == {"basic", "residue", "rdp"}
    assert Portfolio.open(Decimal(200), Decimal(0)).alive == {"basic"}


# stepping


def test_a_gaussian_ends_the_basic_rule_for_good() -> None:
    account = _run(Portfolio.open(ONE, MILLIONTH), [Gaussian(1e-6), *[Pure(Decimal("0.01"))] * 3])

    assert account.alive == {"residue", "rdp"}


def test_one_large_pure_step_ends_the_residue_rule_for_good() -> None:
    account = _run(Portfolio.open(ONE, MILLIONTH), [Pure(Decimal("0.5")), Pure(Decimal("1e-6"))])

    assert "residue" not in account.alive
    assert "basic" in account.alive


def test_a_step_that_no_surviving_rule_covers_is_refused() -> None:
    account = _run(Portfolio.open(ONE, MILLIONTH), [Gaussian(0.03)])

    assert account.alive == {"residue", "rdp"}
    assert account.step(Pure(Decimal("0.9"))) is None
    assert account.step(Composed((Pure(Decimal("0.1")), Gaussian(0.05)))) is None


def test_parts_that_each_fit_another_rule_do_not_make_a_step() -> None:
    account = Portfolio.open(ONE, MILLIONTH)
    pure, gaussian = Pure(Decimal("0.9")), Gaussian(0.05)
    assert account.step(pure) is not None
    assert account.step(gaussian) is not None

    assert account.step(Composed((pure, gaussian))) is None


def test_the_basic_rule_is_exact_to_the_last_decimal() -> None:
    account = Portfolio.open(ONE, Decimal(0))

    spent = _run(account, [Pure(TENTH)] * 9)
    last = spent.step(Pure(TENTH))

    assert last is not None
    assert last.rules() == {"basic": 0.0}
    assert last.step(Pure(Decimal("1e-6"))) is None
    assert spent.step(Pure(Decimal("0.1" + "0" * 60 + "1"))) is None


def test_the_slack_is_exact_and_its_end_kills_no_rule() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)
    threshold = Threshold(Decimal("1e-9"))

    spent = _run(account, [threshold] * 100)

    assert spent.rules()["slack"] == 0.0
    assert spent.step(threshold) is None
    assert spent.alive == {"basic", "residue", "rdp"}
    assert spent.step(Pure(TENTH)) is not None


def test_a_black_box_pays_its_epsilon_to_the_rules_and_its_delta_to_the_slack() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)

    box = account.step(Approximate(TENTH, Decimal("1e-8")))
    pure = account.step(Pure(TENTH))

    assert box is not None
    assert pure is not None
    assert box.live == pure.live
    assert box.slack.rest == Decimal("9e-8")


def test_the_exponential_mechanism_pays_the_residue_for_half_its_epsilon() -> None:
    account = Portfolio.open(ONE, MILLIONTH)

    choice, half = account.step(Exponential(TENTH)), account.step(Pure(TENTH / 2))

    assert choice is not None
    assert half is not None
    assert choice.rules()["residue"] == half.rules()["residue"]
    assert choice.rules()["basic"] == 0.9


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "0.5"])
def test_at_equal_deviation_a_laplace_step_pays_twice_a_gaussians_residue(epsilon: str) -> None:
    rule, deviation = Residue(20.0, 20.0), sqrt(2.0) / float(epsilon)

    laplace, gaussian = rule.step(Pure(Decimal(epsilon))), rule.step(Gaussian(deviation**-2))

    assert laplace is not None
    assert gaussian is not None
    assert (20.0 - laplace.rest) / (20.0 - gaussian.rest) == pytest.approx(2.0, abs=0.05)


def test_a_discrete_gaussian_pays_more_than_a_continuous_one_on_a_coarse_lattice() -> None:
    account = Portfolio.open(ONE, MILLIONTH)

    coarse, fine = account.step(DiscreteGaussian(1e-3, 4.0)), account.step(Gaussian(1e-3))

    assert coarse is not None
    assert fine is not None
    assert coarse.rules()["residue"] < fine.rules()["residue"]
    assert coarse.rules()["rdp"] == fine.rules()["rdp"]


def test_the_smallest_steps_are_never_free() -> None:
    account = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)
    least: list[Event] = [Pure(Decimal("1e-6")), Gaussian(1e-12), Exponential(Decimal("1e-6"))]

    for event in least:
        after = account.step(event)
        assert after is not None
        for name in after.alive - {"basic"}:
            before_rule, after_rule = _rule(account, name), _rule(after, name)
            assert not isinstance(before_rule, Basic)
            assert not isinstance(after_rule, Basic)
            assert after_rule.rest < before_rule.rest


@given(BUDGETS, SHARES, st.lists(EVENTS, max_size=12))
def test_no_step_gives_anything_back(
    budget: tuple[Decimal, Decimal], share: Decimal, events: list[Event]
) -> None:
    account = Portfolio.open(*budget, slack_share=share)

    for event in events:
        after = account.step(event)
        if after is None:
            continue
        assert after.alive <= account.alive
        assert all(after.rules()[name] <= account.rules()[name] for name in after.rules())
        assert check_step(account, event, after)
        account = after

    assert account.alive


@given(BUDGETS, SHARES, st.lists(EVENTS, max_size=8), EVENTS)
def test_a_refused_step_changes_nothing_and_stays_refused(
    budget: tuple[Decimal, Decimal], share: Decimal, events: list[Event], event: Event
) -> None:
    account = _run(Portfolio.open(*budget, slack_share=share), events)
    before = json.dumps(account.to_dict())

    refused = account.step(event) is None

    assert json.dumps(account.to_dict()) == before
    assert (account.more(event) == 0) or not refused


@given(
    st.sampled_from(["0.5", "1", "3"]),
    st.sampled_from(["1e-3", "1e-6"]),
    st.sampled_from(["0.02", "0.05", "0.2", "0.5"]),
    st.sampled_from([1e-4, 3e-3, 2e-2]),
    st.lists(st.booleans(), min_size=1, max_size=40),
)
def test_what_an_account_admits_is_within_the_budget_by_the_exact_accountant(
    epsilon: str, delta: str, eps0: str, mu2: float, pattern: list[bool]
) -> None:
    account = Portfolio.open(Decimal(epsilon), Decimal(delta))
    counts = {True: 0, False: 0}

    for is_pure in pattern * 25:
        after = account.step(Pure(Decimal(eps0)) if is_pure else Gaussian(mu2))
        if after is not None:
            account = after
            counts[is_pure] += 1

    spent = optimal_delta(counts[True], float(eps0), counts[False] * mu2, float(epsilon) * (1.0 + 1e-12))
    assert spent <= float(delta)


def test_an_account_wastes_little_against_the_exact_accountant() -> None:
    account = Portfolio.open(ONE, MILLIONTH)

    admitted = account.more(Pure(Decimal("0.01")))

    best = next(k for k in range(500, 700) if optimal_delta(k + 1, 0.01, 0.0, 1.0) > 1e-6)
    assert best == 562
    assert 0.92 * best <= admitted <= best


# counting ahead


@given(BUDGETS, SHARES, st.lists(EVENTS, max_size=4), EVENTS)
def test_counting_ahead_promises_no_more_than_stepping_admits(
    budget: tuple[Decimal, Decimal], share: Decimal, events: list[Event], event: Event
) -> None:
    account = _run(Portfolio.open(*budget, slack_share=share), events)
    promised = account.more(event)

    admitted = 0
    while admitted < min(promised, 60):
        after = account.step(event)
        assert after is not None
        account = after
        admitted += 1

    if promised < 60:
        assert account.more(event) <= 1


@pytest.mark.parametrize(
    "event",
    [
        DiscreteLaplace(Decimal("0.01")),
        DiscreteLaplace(Decimal("0.1")),
        DiscreteGaussian(1e-4, 1e6),
        Exponential(Decimal("0.05")),
        Composed((Threshold(Decimal("1e-9")), DiscreteLaplace(Decimal("0.001")))),
    ],
)
def test_counting_ahead_is_exact_up_to_one(event: Event) -> None:
    account: Portfolio | None = Portfolio.open(ONE, MILLIONTH, slack_share=TENTH)
    assert account is not None
    promised = account.more(event)

    admitted = 0
    while (account := account.step(event)) is not None:
        admitted += 1

    assert promised <= admitted <= promised + 1


def test_counting_ahead_surcharges_as_stepping_does() -> None:
    event, needed = Pure(Decimal("0.5")), 0.0
    for _ in range(5):
        needed = v_needed(needed, 0.5) * (1.0 + 1.5e-11)
    rule: Residue | None = Residue(needed, needed)
    assert rule is not None
    promised = rule.more(event)

    admitted = 0
    while (rule := rule.step(event)) is not None:
        admitted += 1

    assert promised == admitted == 4


def test_counting_ahead_stops_at_a_million() -> None:
    account = Portfolio.open(Decimal(50), Decimal("1e-3"), slack_share=TENTH)

    assert account.more(Pure(Decimal("1e-6"))) == 10**6
    assert account.more(Gaussian(1e-12)) == 10**6
    assert account.more(Threshold(Decimal(0))) == 10**6
