"""Is each kind of step, with what remains after it, dominated by the Gaussian budget at every threshold?"""

from __future__ import annotations

from importlib import import_module
from math import exp, expm1, sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting import DiscreteGaussian
from dpsql.accounting.loss import discrete_mu2, mu_pure, zcdp_pure
from dpsql.accounting.normal import hockey_stick, hockey_stick_error
from dpsql.accounting.residue import floor_pure, needed_before, residue_pure, v_needed

EPSILONS = st.floats(-3.0, 0.6).map(lambda power: 10.0**power)
RESTS = st.one_of(st.just(0.0), st.floats(-6.0, 1.0).map(lambda power: 10.0**power))


def _two_points(epsilon: float, top: float, v: float, t: float) -> float:
    """Hockey stick at t of a pair with losses `top` and `top - epsilon`, followed by a sqrt(v)-GDP future."""
    weight = (exp(epsilon) - exp(top)) / expm1(epsilon)
    return weight * hockey_stick(t - top, v) + (1.0 - weight) * hockey_stick(t - top + epsilon, v)


def _thresholds(epsilon: float, v: float) -> list[float]:
    reach = 4.0 * epsilon + 6.0 * sqrt(v) + 0.5 * v
    return [reach * i / 200.0 for i in range(-200, 201)]


def _excess(epsilon: float, top: float, v_after: float, v: float) -> float:
    """Largest relative excess of step and future over a sqrt(v)-GDP mechanism."""
    worst = -1.0
    for t in _thresholds(epsilon, v):
        target = hockey_stick(t, v)
        if target > 1e-12:
            worst = max(worst, _two_points(epsilon, top, v_after, t) / target - 1.0)
    return worst


@given(EPSILONS, RESTS)
def test_a_pure_step_and_what_remains_are_dominated_at_every_threshold(epsilon: float, rest: float) -> None:
    # Randomised response: losses +-epsilon are the two points of range 2 epsilon with the top at epsilon.
    v = needed_before(rest, epsilon)

    assert _excess(2.0 * epsilon, epsilon, rest, v) <= 1e-9


@pytest.mark.parametrize(("epsilon", "rest"), [(0.1, 0.0), (0.1, 0.05), (1.0, 0.5), (2.0, 4.0)])
def test_one_percent_less_than_needed_breaks_domination(epsilon: float, rest: float) -> None:
    v = rest + 0.99 * (v_needed(rest, epsilon) - rest)

    assert _excess(2.0 * epsilon, epsilon, rest, v) > 1e-6


@pytest.mark.parametrize("epsilon", [0.001, 0.03, 0.3, 1.0, 3.0])
@pytest.mark.parametrize("ratio", [0.0, 0.3, 2.0, 20.0])
@pytest.mark.parametrize("place", [0.02, 0.2, 0.45, 0.5, 0.6, 0.97])
def test_a_choice_by_the_exponential_mechanism_is_dominated_at_half_its_epsilon(
    epsilon: float, ratio: float, place: float
) -> None:
    rest = ratio * epsilon * epsilon
    v = v_needed(rest, 0.5 * epsilon)

    assert _excess(epsilon, place * epsilon, rest, v) <= 1e-9


@given(
    st.floats(-3.0, 0.9).map(lambda power: 10.0**power),
    st.floats(-3.0, 3.0).map(lambda power: 10.0**power),
    st.floats(0.01, 0.99),
)
def test_no_range_and_no_remainder_make_a_choice_dearer(epsilon: float, ratio: float, place: float) -> None:
    # Remainders up to 60, the largest budget; prices are least certain near place = 1/2.
    rest = min(60.0, ratio * epsilon * epsilon)
    v = v_needed(rest, 0.5 * epsilon)

    for top in (place, 0.5 + 1e-6, 0.5 + 1e-3, 0.5 - 0.02):
        assert _excess(epsilon, top * epsilon, rest, v) <= 1e-8


@pytest.mark.parametrize("variance", [4.0, 9.0, 100.0])
@pytest.mark.parametrize("shift", [1, 2, 3, 7])
@pytest.mark.parametrize("ratio", [0.0, 0.5, 3.0])
def test_a_discrete_gaussian_is_dominated_at_its_surcharged_price(
    variance: float, shift: int, ratio: float
) -> None:
    mu2 = shift * shift / variance
    rest = ratio * mu2
    v = rest + discrete_mu2(DiscreteGaussian(mu2, variance))

    assert _discrete_excess(variance, shift, rest, v) <= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("variance", [4.0, 5.3, 25.0, 400.0, 1000.0])
@pytest.mark.parametrize("shift", [1, 2, 3, 4, 5, 8, 13, 20, 33, 51])
@pytest.mark.parametrize("ratio", [0.0, 0.1, 1.0, 5.0])
def test_no_shift_makes_a_discrete_gaussian_dearer(variance: float, shift: int, ratio: float) -> None:
    mu2 = shift * shift / variance
    rest = ratio * mu2
    v = rest + discrete_mu2(DiscreteGaussian(mu2, variance))

    assert v > 60.0 or _discrete_excess(variance, shift, rest, v) <= 1e-9


def test_a_discrete_gaussian_at_the_continuous_price_would_not_be_dominated() -> None:
    assert _discrete_excess(4.0, 1, 0.0, 0.25) > 1e-4


def _discrete_excess(variance: float, shift: int, rest: float, v: float) -> float:
    reach = int(9.0 * sqrt(variance)) + shift
    weights = {y: exp(-0.5 * y * y / variance) for y in range(-reach, reach + 1)}
    everything = sum(weights.values())
    losses = {y: (shift * shift - 2.0 * y * shift) / (2.0 * variance) for y in weights}
    worst = -1.0
    for t in _thresholds(shift / sqrt(variance), v):
        target = hockey_stick(t, v)
        if target > 1e-9:
            mixed = sum(
                weight / everything * hockey_stick(t - losses[y], rest) for y, weight in weights.items()
            )
            worst = max(worst, mixed / target - 1.0)
    return worst


@given(EPSILONS, RESTS)
def test_a_pure_step_takes_at_least_twice_its_divergence(epsilon: float, rest: float) -> None:
    assert v_needed(rest, epsilon) >= (rest + 2.0 * zcdp_pure(epsilon)) * (1.0 - 1e-13)


@given(EPSILONS, st.floats(-8.0, 1.7).map(lambda power: 10.0**power))
def test_what_remains_fits_and_a_little_more_would_not(epsilon: float, v: float) -> None:
    rest = residue_pure(v, epsilon)

    if rest is None:
        assert needed_before(0.0, epsilon) > v * (1.0 - 1e-13)
    else:
        charge = v - rest
        assert 0.0 <= rest <= v - floor_pure(epsilon)
        assert v_needed(rest, epsilon) <= v
        assert needed_before(rest + 1e-8 * charge + 1e-10 * v, epsilon) > v


@pytest.mark.parametrize("v", [1e-13, 1e-12, 1e-9])
def test_a_tiny_step_on_a_tiny_budget_is_not_free(v: float) -> None:
    epsilon = 1e-5 * sqrt(v)

    rest = residue_pure(v, epsilon)

    assert rest is not None
    assert v - rest >= 2.0 * zcdp_pure(epsilon)


def test_the_first_step_on_an_empty_remainder_costs_its_own_gaussian_square() -> None:
    assert v_needed(0.0, 0.7) == pytest.approx(mu_pure(0.7) ** 2, rel=1e-14)


@pytest.mark.parametrize(("ratio", "price"), [(2.25, 1.125), (4.5, 1.0456), (15.0, 1.0117), (100.0, 1.00168)])
def test_the_price_of_a_small_step_falls_towards_its_squared_epsilon(ratio: float, price: float) -> None:
    epsilon = 0.001
    v = ratio * epsilon**2

    rest = residue_pure(v, epsilon)

    assert rest is not None
    assert (v - rest) / epsilon**2 == pytest.approx(price, rel=1e-4)


MP: Any = import_module("mpmath")


def _precise_v(rest: float, epsilon: float) -> Any:
    with MP.workdps(60):
        e, v = MP.mpf(epsilon), MP.mpf(rest)
        m = MP.sqrt(v)
        stick = MP.ncdf(m / 2 - e / m) - MP.exp(e) * MP.ncdf(-m / 2 - e / m)
        lower = (1 - MP.tanh(e / 2) - 2 / (1 + MP.exp(e)) * stick) / 2
        x = MP.mpf(-sqrt(v_needed(rest, epsilon)) / 2.0)
        for _ in range(4):
            x -= (MP.ncdf(x) - lower) / MP.npdf(x)
        return 4 * x * x


@pytest.mark.parametrize("epsilon", [1e-6, 1e-4, 0.01, 0.3, 1.0, 5.0])
@pytest.mark.parametrize("rest", [1e-14, 1e-12, 1e-9, 1e-6, 1e-3, 0.05, 1.0, 20.0, 59.0])
def test_the_float_error_of_the_price_is_far_below_its_margin(epsilon: float, rest: float) -> None:
    precise = _precise_v(rest, epsilon)

    assert abs(float((v_needed(rest, epsilon) - precise) / precise)) < 1e-13


@given(
    st.floats(-13.0, 1.77).map(lambda power: 10.0**power),
    st.floats(-3.0, 1.6).map(lambda power: 10.0**power),
    st.sampled_from([-1.0, 1.0]),
)
def test_the_float_error_of_a_hockey_stick_is_within_its_bound(v: float, far: float, sign: float) -> None:
    t = sign * min(50.0, far * sqrt(v))

    with MP.workdps(60):
        m = MP.sqrt(MP.mpf(v))
        precise = MP.ncdf(m / 2 - MP.mpf(t) / m) - MP.exp(MP.mpf(t)) * MP.ncdf(-m / 2 - MP.mpf(t) / m)

        assert abs(float(hockey_stick(t, v) - precise)) <= hockey_stick_error(t, v) + 1e-300
