"""Are the losses of sampled mechanisms right, and never too small?"""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module
from math import exp, log
from typing import Any

import pytest
from dp_accounting import rdp as oracle
from dp_accounting.dp_event import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import privacy_loss_distribution as pld
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.subsampling import (
    amplified,
    epsilon_at_order,
    noise_deviation,
    noise_multiplier_for,
    quadrature_moment,
    renyi_subsampled,
    subsampled_epsilon,
    whole_order_epsilon,
)

MP: Any = import_module("mpmath")
MNIST = 256 / 60000


def _moment(probability: float, sigma: float, alpha: float, *, opposite: bool = False) -> Any:
    """ln E of the mixture's density ratio by 30-digit quadrature; `opposite` exchanges the two worlds."""
    with MP.workdps(30):
        q, s, a = MP.mpf(probability), MP.mpf(sigma), MP.mpf(alpha)
        power = 1 - a if opposite else a
        low, high = -20 * s - (a if opposite else 0), 20 * s + a

        def density(x: Any) -> Any:
            return MP.npdf(x, 0, s) * (1 - q + q * MP.exp((2 * x - 1) / (2 * s * s))) ** power

        return MP.log(MP.quad(density, MP.linspace(low, high, 24)))


@pytest.mark.parametrize("probability", [1e-4, MNIST, 0.05, 0.5, 0.999])
@pytest.mark.parametrize("sigma", [0.4, 1.1, 5.0, 100.0])
def test_whole_orders_agree_with_another_accountant_and_are_never_below_it(
    probability: float, sigma: float
) -> None:
    for alpha in (2, 3, 8, 17, 64, 256):
        accountant = oracle.RdpAccountant(orders=[alpha])
        accountant.compose(PoissonSampledDpEvent(probability, GaussianDpEvent(sigma)))
        expected = float(accountant._rdp[0])

        found = renyi_subsampled(probability, sigma, alpha)

        # The other accountant sums A itself, whose digits of A - 1 are fewer the nearer A is to 1.
        assert found == pytest.approx(expected, rel=1e-11, abs=1e-14)


@pytest.mark.parametrize(
    ("probability", "sigma", "alpha"),
    [
        (MNIST, 1.1, 12.44),
        (MNIST, 1.1, 4.7),
        (0.05, 0.8, 2.5),
        (0.5, 3.0, 1.5),
        (0.9, 0.4, 1.1),
        (0.2, 9.0, 33.3),
    ],
)
def test_orders_between_are_exact_to_nine_digits_and_never_below_the_truth(
    probability: float, sigma: float, alpha: float
) -> None:
    with MP.workdps(30):
        precise = _moment(probability, sigma, alpha) / (MP.mpf(alpha) - 1)

        assert 0.0 <= float(renyi_subsampled(probability, sigma, alpha) / precise - 1) < 1e-8


def test_a_tiny_loss_between_two_orders_is_bounded_by_their_chord() -> None:
    with MP.workdps(30):
        precise = _moment(1e-3, 5.0, 3.5) / MP.mpf(2.5)

        assert 0.0 <= float(renyi_subsampled(1e-3, 5.0, 3.5) / precise - 1) < 0.04


@pytest.mark.parametrize("probability", [0.001, 0.05, 0.5, 0.95])
@pytest.mark.parametrize("sigma", [0.5, 1.1, 4.0])
def test_the_opposite_direction_loses_no_more(probability: float, sigma: float) -> None:
    for alpha in (1.1, 5.5, 20.0):
        assert _moment(probability, sigma, alpha, opposite=True) <= _moment(probability, sigma, alpha) * (
            1 + MP.mpf("1e-12")
        )


@given(
    st.floats(-6.0, -0.01).map(lambda p: 10.0**p),
    st.floats(0.3, 50.0),
    st.floats(1.01, 40.0),
    st.floats(1.0, 1.5),
)
def test_the_divergence_grows_with_order_and_probability_and_falls_with_noise(
    probability: float, sigma: float, alpha: float, more: float
) -> None:
    here = renyi_subsampled(probability, sigma, alpha)

    assert here <= renyi_subsampled(probability, sigma, float(int(alpha) + 1)) * (1.0 + 1e-9)
    assert here <= 0.5 * alpha / sigma**2

    # At whole orders the value is exact; between them it is a bound that changes its method, and may jump.
    whole = float(int(alpha) + 1)
    exact = renyi_subsampled(probability, sigma, whole)
    assert exact <= renyi_subsampled(min(1.0, probability * more), sigma, whole) * (1.0 + 1e-6)
    assert renyi_subsampled(probability, sigma * more, whole) <= exact * (1.0 + 1e-6)


def test_a_quadrature_that_would_take_long_gives_no_bound() -> None:
    assert quadrature_moment(0.5, 0.01, 1000.5) == float("inf")
    assert renyi_subsampled(0.5, 0.01, 1000.5) == pytest.approx(0.5 * 1000.5 * 1e4, rel=1e-3)


def test_training_on_sixty_thousand_images_costs_what_the_literature_says() -> None:
    assert whole_order_epsilon(MNIST, 1.1, 1000, 1e-5)[0] == pytest.approx(0.8895, abs=5e-5)
    assert whole_order_epsilon(MNIST, 1.1, 1000, 1e-6)[0] == pytest.approx(1.0988, abs=5e-5)


def test_orders_between_whole_ones_gain_and_stay_above_the_exact_loss() -> None:
    step = pld.from_gaussian_mechanism(
        1.1, sampling_prob=MNIST, pessimistic_estimate=False, value_discretization_interval=1e-3
    )
    exact = step.self_compose(1000).get_epsilon_for_delta(1e-5)

    any_order = subsampled_epsilon(MNIST, 1.1, 1000, 1e-5)[0]

    assert exact < any_order < whole_order_epsilon(MNIST, 1.1, 1000, 1e-5)[0]
    assert any_order == pytest.approx(0.8750, abs=5e-5)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-6), (1.0, 1e-5), (8.0, 1e-5)])
def test_calibrated_noise_reaches_its_target_and_little_more(epsilon: float, delta: float) -> None:
    noise = noise_multiplier_for(MNIST, 1000, epsilon, delta)

    assert 0.999 * epsilon < subsampled_epsilon(MNIST, noise, 1000, delta)[0] <= epsilon


def test_a_target_no_noise_reaches_is_an_error() -> None:
    with pytest.raises(ValueError, match="no noise multiplier"):
        noise_multiplier_for(0.5, 10**9, 0.001, 1e-12)


def test_a_missed_order_only_costs() -> None:
    best = subsampled_epsilon(MNIST, 1.1, 1000, 1e-5)[0]

    assert all(
        epsilon_at_order(MNIST, 1.1, 1000, 1e-5, alpha) >= best for alpha in (1.5, 5.0, 30.0, 2e3, 1e6)
    )


@given(st.floats(-4.0, 0.0).map(lambda p: 10.0**p), st.floats(-2.0, 1.0).map(lambda p: 10.0**p))
def test_amplification_follows_its_formula_from_above(probability: float, epsilon: float) -> None:
    share, loss = Decimal(probability), Decimal(epsilon)
    with MP.workdps(50):
        precise = MP.log(1 + MP.mpf(str(share)) * MP.expm1(MP.mpf(str(loss))))
        found = MP.mpf(str(amplified(share, loss)))

        assert MP.mpf("-1e-45") < found - precise < MP.mpf("1.1e-20")


def test_sampling_everybody_amplifies_nothing() -> None:
    assert amplified(Decimal(1), Decimal("0.3")) == Decimal("0.3")


def test_both_directions_of_a_sampled_response_are_within_the_amplified_epsilon() -> None:
    q, epsilon = 0.1, 1.0
    truth, lie = exp(epsilon) / (1 + exp(epsilon)), 1 / (1 + exp(epsilon))
    mixed = (q * truth + (1 - q) * lie, q * lie + (1 - q) * truth)
    losses = [abs(log(mixed[0] / lie)), abs(log(mixed[1] / truth))]

    assert max(losses) == pytest.approx(float(amplified(Decimal("0.1"), Decimal(1))), rel=1e-12)


def test_noise_falls_with_the_batch() -> None:
    assert noise_deviation(984.0, clip=1.0, batch=256) == pytest.approx(3.844, abs=5e-4)
    assert noise_deviation(147.1, clip=1.0, batch=256) == pytest.approx(0.575, abs=5e-4)
    assert noise_deviation(984.0, clip=1.0, batch=1024) == pytest.approx(3.844 / 4, abs=5e-4)
