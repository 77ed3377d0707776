from __future__ import annotations

import doctest
from fractions import Fraction
from importlib import import_module
from math import exp, sqrt
from typing import Any

import pytest
from dp_accounting import get_sigma_gaussian
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from dpsql.accounting import calibration
from dpsql.accounting.calibration import (
    discrete_gaussian_delta,
    discrete_gaussian_threshold,
    discrete_laplace_threshold,
    gaussian_delta,
    gaussian_sigma,
    gaussian_sigma_classic,
    gaussian_threshold,
    group_share,
    laplace_threshold,
    least_step,
)
from dpsql.accounting.tails import discrete_gaussian_tail, discrete_laplace_tail

MP: Any = import_module("mpmath")


def test_the_examples_in_the_docstrings_hold() -> None:
    assert doctest.testmod(calibration).failed == 0
    assert doctest.testmod(calibration).attempted > 0


# Gaussian noise


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (3.0, 1e-5), (8.0, 1e-8)])
def test_sigma_agrees_with_another_accountant(epsilon: float, delta: float) -> None:
    assert gaussian_sigma(epsilon, delta) == pytest.approx(get_sigma_gaussian(epsilon, delta), rel=1e-6)


@given(
    st.floats(-3.0, 1.0).map(lambda p: 10.0**p),
    st.floats(-15.0, -1.0).map(lambda p: 10.0**p),
    st.floats(-3.0, 9.0).map(lambda p: 10.0**p),
)
def test_sigma_suffices_and_one_part_in_a_million_less_does_not(
    epsilon: float, delta: float, l2: float
) -> None:
    sigma = gaussian_sigma(epsilon, delta, l2)

    assert gaussian_delta(epsilon, sigma, l2) <= delta * (1.0 + 1e-9)
    assert gaussian_delta(epsilon, sigma * (1.0 - 1e-6), l2) > delta


def test_the_classic_sigma_is_larger_and_stops_where_its_proof_does() -> None:
    assert gaussian_sigma_classic(0.9, 1e-6) > gaussian_sigma(0.9, 1e-6)
    with pytest.raises(ValueError, match="epsilon < 1"):
        gaussian_sigma_classic(1.0, 1e-6)


@pytest.mark.parametrize(
    ("epsilon", "delta", "l2"),
    [(0.0, 1e-6, 1.0), (-1.0, 1e-6, 1.0), (1.0, 0.0, 1.0), (1.0, 1.0, 1.0), (1.0, 1e-6, 0.0)],
)
def test_noise_that_no_loss_asks_for_is_refused(epsilon: float, delta: float, l2: float) -> None:
    with pytest.raises(ValueError, match=r"epsilon|sensitivity"):
        gaussian_sigma(epsilon, delta, l2)


@pytest.mark.parametrize(("epsilon", "variance", "l2"), [(1.0, 1.0, 1), (0.5, 30.0, 3), (0.0, 4.0, 2)])
def test_the_discrete_gaussians_delta_is_its_hockey_stick(epsilon: float, variance: float, l2: int) -> None:
    with MP.workdps(40):
        weights = {y: MP.exp(-MP.mpf(y * y) / (2 * MP.mpf(variance))) for y in range(-150, 151)}
        everything = sum(weights.values())
        shifted = {y: weights.get(y - l2, MP.mpf(0)) for y in weights}
        gaps = (shifted[y] - MP.exp(MP.mpf(epsilon)) * weights[y] for y in weights)
        precise = float(sum(gap for gap in gaps if gap > 0) / everything)

    assert discrete_gaussian_delta(epsilon, variance, l2) == pytest.approx(precise, rel=1e-9)


def test_the_discrete_gaussian_can_be_worse_than_the_continuous_one() -> None:
    assert discrete_gaussian_delta(1.0, 1.0) == pytest.approx(0.14135, abs=1e-5)
    assert gaussian_delta(1.0, 1.0) == pytest.approx(0.12694, abs=1e-5)


@pytest.mark.parametrize(("epsilon", "variance", "l2"), [(-1.0, 4.0, 1), (1.0, 0.0, 1), (1.0, 4.0, 0)])
def test_a_discrete_gaussian_that_does_not_exist_is_refused(epsilon: float, variance: float, l2: int) -> None:
    with pytest.raises(ValueError, match="variance"):
        discrete_gaussian_delta(epsilon, variance, l2)


# tails


@given(st.fractions(Fraction(1, 50), 2**40), st.integers(-200, 10**6))
def test_a_laplace_tail_is_an_upper_bound_and_tight(scale: Fraction, k: int) -> None:
    with MP.workdps(60):
        rate = MP.mpf(scale.denominator) / MP.mpf(scale.numerator)
        upper = MP.exp(-rate * abs(k if k >= 1 else 1 - k)) / (1 + MP.exp(-rate))
        precise = upper if k >= 1 else 1 - upper
        found = discrete_laplace_tail(scale, k)

        assert found >= precise
        assert found <= precise * (1 + MP.mpf("1e-11")) + MP.mpf("1e-300")


def _precise_gaussian_tail(sigma: Fraction, k: int) -> float:
    with MP.workdps(40):
        square = 2 * (MP.mpf(sigma.numerator) / sigma.denominator) ** 2
        reach = int(30 * sigma) + 2
        weights = [MP.exp(-MP.mpf(y * y) / square) for y in range(reach)]
        return float(sum(weights[k:]) / (2 * sum(weights) - weights[0]))


@pytest.mark.parametrize("sigma", [Fraction(1, 3), Fraction(2), Fraction(25, 2), Fraction(64)])
@pytest.mark.parametrize("deviations", [0.0, 0.7, 2.0, 5.5])
def test_a_small_gaussian_tail_is_its_sum(sigma: Fraction, deviations: float) -> None:
    k = 1 + int(deviations * sigma)

    precise = _precise_gaussian_tail(sigma, k)

    assert precise <= discrete_gaussian_tail(sigma, k) <= precise * (1.0 + 1e-11)


@pytest.mark.parametrize("sigma", [Fraction(65), Fraction(1001, 8)])
@pytest.mark.parametrize("deviations", [0.0, 0.7, 1.5, 3.0, 5.5])
def test_a_large_gaussian_tail_is_bounded_closely(sigma: Fraction, deviations: float) -> None:
    k = 1 + int(deviations * sigma)

    precise = _precise_gaussian_tail(sigma, k)

    assert precise <= discrete_gaussian_tail(sigma, k) <= precise * 1.02


def test_a_tail_at_the_samplers_largest_scales_is_near_its_continuous_one() -> None:
    laplace = discrete_laplace_tail(Fraction(2**40), 20 * 2**40)
    gaussian = discrete_gaussian_tail(Fraction(2**26), 5 * 2**26)

    assert laplace == pytest.approx(0.5 * exp(-20.0), rel=1e-9)
    assert gaussian == pytest.approx(norm.sf(5.0), rel=1e-6)
    assert gaussian >= norm.sf(5.0)


def test_a_tail_too_small_for_a_float_is_not_zero() -> None:
    assert discrete_laplace_tail(Fraction(1, 10**6), 10**9) > 0.0
    assert discrete_gaussian_tail(Fraction(1), 100) > 0.0
    assert discrete_gaussian_tail(Fraction(100), 10**9) > 0.0


def test_the_middle_of_a_tail_is_covered() -> None:
    assert discrete_gaussian_tail(Fraction(3), 0) == 1.0
    assert discrete_laplace_tail(Fraction(3), -1000) == 1.0


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_a_scale_that_is_not_positive_is_refused(scale: Fraction) -> None:
    with pytest.raises(ValueError, match="above 0"):
        discrete_laplace_tail(scale, 1)
    with pytest.raises(ValueError, match="above 0"):
        discrete_gaussian_tail(scale, 1)


# thresholds


@pytest.mark.parametrize("delta", [1e-20, 1e-16, 1e-12, 1e-6, 0.3])
@pytest.mark.parametrize("l0", [1, 4, 1000])
def test_a_groups_share_of_delta_keeps_its_digits(delta: float, l0: int) -> None:
    with MP.workdps(60):
        precise = 1 - (1 - MP.mpf(delta)) ** (MP.mpf(1) / l0)
        found = group_share(delta, l0)

        assert 0.0 < found <= precise
        assert found >= precise * (1 - MP.mpf("1e-14"))


@pytest.mark.parametrize(("delta", "l0"), [(0.0, 1), (1.0, 1), (float("nan"), 1), (1e-6, 0)])
def test_a_threshold_without_delta_or_groups_is_refused(delta: float, l0: int) -> None:
    with pytest.raises(ValueError, match="threshold"):
        group_share(delta, l0)


@given(
    st.floats(-2.0, 0.7).map(lambda p: 10.0**p),
    st.floats(-15.0, -2.0).map(lambda p: 10.0**p),
    st.integers(1, 40),
    st.integers(1, 20),
)
def test_a_lone_unit_passes_a_laplace_threshold_at_most_with_its_share(
    epsilon: float, delta: float, l0: int, minimum: int
) -> None:
    scale, share = l0 / Fraction(epsilon), group_share(delta, l0)

    distance = discrete_laplace_threshold(epsilon, delta, l0, minimum) - minimum

    assert discrete_laplace_tail(scale, distance) <= share
    assert distance == 1 or discrete_laplace_tail(scale, distance - 1) > share


@pytest.mark.parametrize("variance", [1.0, 4.0, 100.0, 1e6])
@pytest.mark.parametrize("l0", [1, 16])
def test_a_lone_unit_passes_a_gaussian_threshold_at_most_with_its_share(variance: float, l0: int) -> None:
    sigma, share = Fraction(sqrt(variance)), group_share(1e-6, l0)

    distance = discrete_gaussian_threshold(variance, 1e-6, l0) - 1

    assert discrete_gaussian_tail(sigma, distance) <= share
    assert discrete_gaussian_tail(sigma, distance - 1) > share * 0.999


def test_continuous_thresholds_are_the_quantiles_of_their_noise() -> None:
    assert laplace_threshold(1.0, 0.8) == pytest.approx(1.0 - 0.9162907318741551)
    assert norm.sf((gaussian_threshold(10.0, 1e-6) - 1.0) / 10.0) == pytest.approx(1e-6, rel=1e-9)


def test_a_minimum_number_of_units_raises_the_threshold_by_as_many() -> None:
    assert discrete_laplace_threshold(1.0, 1e-6, 1, 5) == discrete_laplace_threshold(1.0, 1e-6) + 4


def test_a_variance_beyond_all_lattices_is_refused() -> None:
    with pytest.raises(ValueError, match="variance"):
        discrete_gaussian_threshold(2.0**53, 1e-6)


@pytest.mark.parametrize("least", [1, 2, 7, 1000])
def test_the_least_step_is_found_by_halving(least: int) -> None:
    assert least_step(lambda k: 1.0 / k, 1.0 / least) == least
