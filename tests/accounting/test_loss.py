from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from math import inf, tanh
from typing import Any

import pytest
from dp_accounting import rdp as oracle
from dp_accounting.dp_event import GaussianDpEvent, LaplaceDpEvent
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
    Laplace,
    NoisyMax,
    NonPrivate,
    Portfolio,
    Pure,
    SubsampledGaussian,
    SubsampledPure,
    Threshold,
)
from dpsql.accounting.loss import (
    delta_of,
    epsilon_of,
    mu2_of,
    mu_pure,
    rdp_laplace,
    rdp_pure,
    renyi_of,
    rho_of,
    zcdp_laplace,
    zcdp_pure,
)
from dpsql.accounting.subsampling import amplified
from tests.accounting.strategies import EVENTS

TENTH = Decimal("0.1")
MP: Any = import_module("mpmath")


def _oracle_rdp(event: Any, alpha: float) -> float:
    accountant = oracle.RdpAccountant(orders=[alpha])
    accountant.compose(event)
    return float(accountant._rdp[0])


@pytest.mark.parametrize("alpha", [1.5, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("epsilon", [0.05, 0.5, 2.0])
def test_laplace_divergence_agrees_with_another_accountant(alpha: float, epsilon: float) -> None:
    expected = _oracle_rdp(LaplaceDpEvent(1.0 / epsilon), alpha)

    assert rdp_laplace(epsilon, alpha) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("alpha", [1.5, 2.0, 8.0, 64.0])
@pytest.mark.parametrize("sigma", [0.7, 3.0, 100.0])
def test_gaussian_divergence_agrees_with_another_accountant(alpha: float, sigma: float) -> None:
    expected = _oracle_rdp(GaussianDpEvent(sigma), alpha)

    assert renyi_of(Gaussian(sigma**-2), alpha) == pytest.approx(expected, rel=1e-12)


@given(st.floats(-9.0, 1.69).map(lambda p: 10.0**p), st.floats(-2.0, 6.0).map(lambda p: 1.0 + 10.0**p))
def test_pure_divergence_keeps_its_digits_where_the_textbook_form_cancels(
    epsilon: float, alpha: float
) -> None:
    with MP.workdps(60):
        a, e = MP.mpf(alpha), MP.mpf(epsilon)
        quotient = (1 + MP.exp(-e)) / (1 + MP.exp(-(2 * a - 1) * e))
        precise = e - MP.log(quotient) / (a - 1)

        assert abs(float((rdp_pure(epsilon, alpha) - precise) / precise)) < 1e-12


@given(st.floats(-6.0, 1.69).map(lambda p: 10.0**p), st.floats(-2.0, 4.0).map(lambda p: 1.0 + 10.0**p))
def test_laplace_divergence_is_never_too_small(epsilon: float, alpha: float) -> None:
    with MP.workdps(60):
        a, e = MP.mpf(alpha), MP.mpf(epsilon)
        near = a / (2 * a - 1)
        precise = MP.log(near * MP.exp((a - 1) * e) + (1 - near) * MP.exp(-a * e)) / (a - 1)

        # the filter's surcharge is 1e-9
        assert float((rdp_laplace(epsilon, alpha) - precise) / precise) > -1e-10


@given(st.floats(-6.0, 1.0).map(lambda p: 10.0**p), st.floats(-2.0, 5.0).map(lambda p: 1.0 + 10.0**p))
def test_zcdp_bounds_every_order(epsilon: float, alpha: float) -> None:
    assert rdp_pure(epsilon, alpha) <= alpha * zcdp_pure(epsilon) * (1.0 + 1e-12)
    assert rdp_pure(epsilon, alpha) <= epsilon
    assert rdp_laplace(epsilon, alpha) <= alpha * zcdp_laplace(epsilon) * (1.0 + 1e-9)
    assert rdp_laplace(epsilon, alpha) <= rdp_pure(epsilon, alpha) * (1.0 + 1e-9)


@given(st.floats(-6.0, 0.5).map(lambda p: 10.0**p), st.floats(0.05, 0.95), st.floats(1.1, 60.0))
def test_one_laplace_coordinate_with_the_summed_epsilon_bounds_two(
    epsilon: float, part: float, alpha: float
) -> None:
    for divergence in (rdp_laplace, rdp_pure):
        two = divergence(part * epsilon, alpha) + divergence((1.0 - part) * epsilon, alpha)
        assert two <= divergence(epsilon, alpha) * (1.0 + 1e-9)


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 0.999e-3, 1e-3, 0.01])
def test_the_series_of_small_laplace_losses_errs_high_by_little(epsilon: float) -> None:
    with MP.workdps(40):
        precise = float(MP.mpf(epsilon) - 1 + MP.exp(-MP.mpf(epsilon)))

    assert precise * (1.0 - 1e-11) <= zcdp_laplace(epsilon) <= precise * (1.0 + 1e-10)


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.999, 1.0, 3.0, 50.0])
def test_the_gaussian_square_of_a_pure_step_matches_its_total_variation(epsilon: float) -> None:
    with MP.workdps(40):
        variation = float(MP.erf(MP.mpf(mu_pure(epsilon)) / MP.sqrt(8)))

    assert variation == pytest.approx(tanh(epsilon / 2.0), rel=1e-13)


def test_each_event_has_its_price_in_each_currency() -> None:
    alpha = 4.0
    sampled = amplified(TENTH, TENTH)
    rate = float(sampled)
    expected: list[tuple[Event, Decimal | None, str, float, float]] = [
        (Pure(TENTH), TENTH, "0", zcdp_pure(0.1), mu_pure(0.1) ** 2),
        (DiscreteLaplace(TENTH), TENTH, "0", zcdp_pure(0.1), mu_pure(0.1) ** 2),
        (Laplace(TENTH), TENTH, "0", zcdp_laplace(0.1), mu_pure(0.1) ** 2),
        (Exponential(TENTH), TENTH, "0", 0.1**2 / 8, mu_pure(0.05) ** 2),
        (NoisyMax(TENTH), TENTH, "0", zcdp_pure(0.1), mu_pure(0.1) ** 2),
        (SubsampledPure(TENTH, TENTH), sampled, "0", zcdp_pure(rate), mu_pure(rate) ** 2),
        (SubsampledGaussian(0.01, 2.0, 3), None, "0", 3.0 / 8.0, 3.0 / 4.0),
        (Gaussian(0.02), None, "0", 0.01, 0.02),
        (DiscreteGaussian(0.02, 100.0), None, "0", 0.01, 0.02 * (1.0 + 1.0 / 600.0)),
        (Threshold(Decimal("1e-9")), Decimal(0), "1e-9", 0.0, 0.0),
        (Approximate(TENTH, Decimal("1e-9")), TENTH, "1e-9", zcdp_pure(0.1), mu_pure(0.1) ** 2),
    ]

    for event, epsilon, delta, rho, mu2 in expected:
        assert epsilon_of(event) == epsilon
        assert delta_of(event) == Decimal(delta)
        assert rho_of(event) == pytest.approx(rho, rel=1e-12)
        assert mu2_of(event) == pytest.approx(mu2, rel=1e-12)
        assert renyi_of(event, alpha) <= alpha * rho * (1.0 + 1e-12)
        assert (renyi_of(event, alpha) > 0.0) == (rho > 0.0)


def test_the_exponential_mechanism_never_diverges_by_more_than_its_epsilon() -> None:
    assert renyi_of(Exponential(TENTH), 1e9) == 0.1


def test_noisy_max_is_dearer_than_an_exponential_mechanism_of_the_same_epsilon() -> None:
    assert rho_of(NoisyMax(TENTH)) > 3.9 * rho_of(Exponential(TENTH))


def test_sampling_lowers_what_it_can_and_raises_nothing() -> None:
    sampled, whole = SubsampledGaussian(0.01, 2.0, 3), SubsampledGaussian(1.0, 2.0, 3)

    assert renyi_of(sampled, 4.0) < 0.001 * renyi_of(whole, 4.0)
    assert renyi_of(whole, 4.0) == pytest.approx(renyi_of(Gaussian(0.75), 4.0), rel=1e-12)
    assert rho_of(sampled) == rho_of(whole) == pytest.approx(rho_of(Gaussian(0.75)))


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_no_account_admits_what_nothing_is_known_about(delta: str) -> None:
    account = Portfolio.open(Decimal(5), Decimal(delta), slack_share=TENTH)
    unknown = NonPrivate()

    assert (epsilon_of(unknown), rho_of(unknown), mu2_of(unknown)) == (None, inf, inf)
    assert renyi_of(unknown, 2.0) == inf
    assert account.step(unknown) is None
    assert account.step(Composed((Pure(TENTH), unknown))) is None
    assert account.more(unknown) == 0


def test_training_with_sampling_fits_where_training_without_does_not() -> None:
    account = Portfolio.open(Decimal(3), Decimal("1e-5"))

    after = account.step(SubsampledGaussian(256 / 60000, 1.1, 1000))

    assert after is not None
    assert after.alive == {"rdp"}
    assert account.step(SubsampledGaussian(1.0, 1.1, 1000)) is None


def test_parts_of_a_step_add_up() -> None:
    step = Composed((Pure(TENTH), Exponential(TENTH), Threshold(Decimal("1e-9")), Threshold(Decimal("2e-9"))))

    assert epsilon_of(step) == Decimal("0.2")
    assert delta_of(step) == Decimal("3e-9")
    assert rho_of(step) == pytest.approx(zcdp_pure(0.1) + 0.1**2 / 8)
    assert epsilon_of(Composed((Pure(TENTH), Gaussian(0.1)))) is None


@given(EVENTS, st.floats(1.01, 1e6))
def test_every_price_is_finite_and_none_is_negative(event: Event, alpha: float) -> None:
    prices = [rho_of(event), mu2_of(event), renyi_of(event, alpha)]

    assert all(0.0 <= price < inf for price in prices)
    assert delta_of(event) >= 0
