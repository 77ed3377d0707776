"""Do the spread and the tails of discrete Laplace noise equal exact sums?"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql import errors
from dpsql.mechanisms import Laplace, Sampler, SilentSampler

SCALES = st.fractions(min_value=Fraction(1, 20), max_value=Fraction(10**6), max_denominator=1000)
SUBNORMAL = Decimal("1e-318")


def exact_tail(scale: Fraction, k: int) -> Decimal:
    """P(X >= k) for k >= 1, as the sum of a geometric series, in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)
        return (-k * rate).exp() / (1 + (-rate).exp())


@given(SCALES, st.integers(1, 900))
def test_a_tail_is_never_below_the_exact_one_and_hardly_above(scale: Fraction, multiple: int) -> None:
    k = 1 + int(multiple * scale)

    tail = Decimal(Laplace(scale).tail(k))

    exact = exact_tail(scale, k)
    assert exact <= tail <= exact * (1 + Decimal("2e-12")) + SUBNORMAL


def test_a_tail_that_no_double_holds_is_still_above_zero() -> None:
    assert Laplace(Fraction(1, 1000)).tail(5) > 0


def test_the_tail_from_zero_on_is_not_more_than_certain() -> None:
    assert Laplace(Fraction(3)).tail(0) == 1.0
    assert Laplace(Fraction(3)).tail(-5) == 1.0


@given(SCALES, st.sampled_from([0.5, 0.8, 0.95, 0.99, 0.999999]))
def test_the_half_width_is_the_smallest_that_keeps_the_confidence(scale: Fraction, confidence: float) -> None:
    miss = 1 - Decimal(repr(confidence))

    width = Laplace(scale).half_width(confidence)

    assert 2 * exact_tail(scale, width + 1) <= miss
    assert width == 0 or 2 * exact_tail(scale, width) > miss


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(100)], ids=str)
def test_the_deviation_equals_the_sum_of_squares(scale: Fraction) -> None:
    x = np.arange(-6000, 6001)
    weights = np.exp(-np.abs(x) / float(scale))

    assert Laplace(scale).std() == pytest.approx(np.sqrt((x * x * weights).sum() / weights.sum()), rel=1e-12)


@pytest.mark.parametrize("confidence", [0.0, 1.0, -0.5, 2.0, float("nan")])
def test_a_confidence_that_is_no_probability_is_refused(confidence: float) -> None:
    with pytest.raises(errors.UnsupportedQuery):
        Laplace(Fraction(1)).half_width(confidence)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-2), Fraction(1 << 41)], ids=str)
def test_a_scale_out_of_range_is_refused_before_any_draw(scale: Fraction) -> None:
    with pytest.raises(errors.UnsupportedQuery, match="DP215"):
        Laplace(scale)


def test_draws_come_from_the_source_that_is_given() -> None:
    noise = Laplace(Fraction(50))

    assert noise.draw(SilentSampler(), 4).tolist() == [0, 0, 0, 0]
    assert noise.draw(Sampler(), 40).any()
