"""Do the spread and the tails of discrete Gaussian noise equal exact sums?"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.mechanisms import Gaussian, Sampler, SilentSampler

SUMMED = st.fractions(min_value=Fraction(1, 10), max_value=Fraction(32), max_denominator=100)
SUBNORMAL = Decimal("1e-318")


@lru_cache(maxsize=512)
def exact_tail(sigma: Fraction, k: int) -> Decimal:
    """P(X >= k) for k >= 1, summed term by term in 40 digits."""
    with localcontext() as context:
        context.prec = 40
        rate = Decimal(sigma.denominator) ** 2 / (2 * Decimal(sigma.numerator) ** 2)
        reach = int(14 * sigma) + 3
        mass = 1 + 2 * sum((-x * x * rate).exp() for x in range(1, reach))
        return sum(((-x * x * rate).exp() for x in range(k, k + reach)), Decimal(0)) / mass


@settings(max_examples=40, deadline=None)
@given(SUMMED, st.integers(0, 35))
def test_a_summed_tail_is_never_below_the_exact_one_and_hardly_above(sigma: Fraction, multiple: int) -> None:
    k = 1 + int(multiple * sigma)

    tail = Decimal(Gaussian(sigma).tail(k))

    exact = exact_tail(sigma, k)
    assert exact <= tail <= exact * (1 + Decimal("2e-11")) + SUBNORMAL


@pytest.mark.parametrize("sigma", [Fraction(3201, 100), Fraction(1000, 3)], ids=str)
@pytest.mark.parametrize("multiple", [1.0, 2.0, 5.0, 8.0, 20.0])
def test_a_bounded_tail_is_never_below_the_exact_one_and_hardly_above(
    sigma: Fraction, multiple: float
) -> None:
    k = 2 + int(multiple * sigma)

    tail = Decimal(Gaussian(sigma).tail(k))

    exact = exact_tail(sigma, k)
    slack = Decimal(1 + multiple**2) / Decimal(12 * float(sigma) ** 2)
    assert exact <= tail <= exact * (1 + slack)


@pytest.mark.parametrize("k", [1, 2, 10, 32, 33, 34])
def test_a_bounded_tail_near_the_middle_is_never_below_the_exact_one_and_hardly_above(k: int) -> None:
    sigma = Fraction(33)

    tail = Decimal(Gaussian(sigma).tail(k))

    assert exact_tail(sigma, k) <= tail <= exact_tail(sigma, k) * (1 + Decimal("1e-4"))


def test_a_tail_that_no_double_holds_is_still_above_zero() -> None:
    assert Gaussian(Fraction(1, 1000)).tail(5) > 0
    assert Gaussian(Fraction(1000)).tail(10**6) > 0


def test_the_tail_from_zero_on_is_not_more_than_certain() -> None:
    assert Gaussian(Fraction(3)).tail(0) == 1.0


@settings(max_examples=30, deadline=None)
@given(SUMMED, st.sampled_from([0.5, 0.95, 0.999]))
def test_the_half_width_is_the_smallest_that_keeps_the_confidence(sigma: Fraction, confidence: float) -> None:
    miss = 1 - Decimal(repr(confidence))

    width = Gaussian(sigma).half_width(confidence)

    assert 2 * exact_tail(sigma, width + 1) <= miss
    assert width == 0 or 2 * exact_tail(sigma, width) > miss


@pytest.mark.parametrize("sigma", [Fraction(33), Fraction(333, 2)], ids=str)
def test_the_half_width_of_a_wide_law_is_at_most_one_step_too_large(sigma: Fraction) -> None:
    width = Gaussian(sigma).half_width()

    assert 2 * exact_tail(sigma, width + 1) <= Decimal("0.05") < 2 * exact_tail(sigma, width - 1)


@pytest.mark.parametrize(
    "sigma", [Fraction(1, 3), Fraction(1, 2), Fraction(1), Fraction(5, 2), Fraction(40)], ids=str
)
def test_the_deviation_equals_the_sum_of_squares(sigma: Fraction) -> None:
    x = np.arange(-1000, 1001)
    weights = np.exp(-x * x / (2 * float(sigma) ** 2))

    assert Gaussian(sigma).std() == pytest.approx(np.sqrt((x * x * weights).sum() / weights.sum()), rel=1e-12)


@pytest.mark.parametrize("sigma", [Fraction(0), Fraction(-2), Fraction((1 << 26) + 1)], ids=str)
def test_a_deviation_out_of_range_is_refused_before_any_draw(sigma: Fraction) -> None:
    with pytest.raises(errors.UnsupportedQuery, match="DP215"):
        Gaussian(sigma)


def test_draws_come_from_the_source_that_is_given() -> None:
    noise = Gaussian(Fraction(50))

    assert noise.draw(SilentSampler(), 4).tolist() == [0, 0, 0, 0]
    assert noise.draw(Sampler(), 40).any()
