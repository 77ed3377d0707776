"""Does the threshold show a group of one person with probability at most delta, and no less than it may?"""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.mechanisms import Gaussian, Laplace, Mechanism, tau


@pytest.mark.parametrize(
    ("mechanism", "delta", "l0", "wanted"),
    [
        (Laplace(Fraction(1)), "1e-6", 1, 15),
        (Laplace(Fraction(4)), "1e-6", 4, 60),
        (Laplace(Fraction(16)), "1e-6", 16, 256),
        (Laplace(Fraction(2)), "1e-8", 1, 37),
        (Gaussian(Fraction(10)), "1e-6", 1, 50),
        (Gaussian(Fraction(10)), "1e-6", 4, 52),
        (Gaussian(Fraction(10)), "1e-6", 16, 55),
        (Gaussian(Fraction(10)), "1e-8", 1, 58),
    ],
)
def test_known_thresholds_are_met(mechanism: Mechanism, delta: str, l0: int, wanted: int) -> None:
    """Geometric tail and exact sums of the discrete normal, computed apart from this code."""
    assert tau(mechanism, unit=1, delta=Decimal(delta), l0=l0) == wanted


@settings(max_examples=60, deadline=None)
@given(
    scale=st.fractions(min_value=Fraction(1, 4), max_value=Fraction(10**5), max_denominator=50),
    unit=st.integers(1, 4096),
    power=st.integers(1, 20),
    l0=st.sampled_from([1, 2, 20, 10**6]),
    minimum=st.integers(1, 50),
)
def test_the_threshold_is_the_smallest_that_keeps_delta_over_all_groups(
    scale: Fraction, unit: int, power: int, l0: int, minimum: int
) -> None:
    """Over l0 groups the chance that one of them passes is 1 - (1 - tail)^l0, here in 90 digits."""
    delta = Decimal(10) ** -power

    noise = tau(Laplace(scale), unit=unit, delta=delta, l0=l0, minimum=minimum) - minimum * unit

    with localcontext() as context:
        context.prec = 90
        rate = Decimal(scale.denominator) / Decimal(scale.numerator)
        passes = [1 - (1 - (-k * rate).exp() / (1 + (-rate).exp())) ** l0 for k in (noise, noise - 1)]
    assert passes[0] <= delta
    assert noise == 1 or passes[1] > delta


def test_a_tiny_delta_over_many_groups_is_not_rounded_away() -> None:
    """1 - (1 - delta)^(1/l0) in doubles is 0 here, and the threshold infinite."""
    noise = Laplace(Fraction(1))

    assert tau(noise, unit=1, delta=Decimal("1e-20"), l0=1) == 47
    assert tau(noise, unit=1, delta=Decimal("1e-20"), l0=1000) == 54


def test_the_minimum_shifts_the_threshold_by_its_steps() -> None:
    noise = Gaussian(Fraction(3))
    one = tau(noise, unit=7, delta=Decimal("1e-9"), l0=3)

    assert tau(noise, unit=7, delta=Decimal("1e-9"), l0=3, minimum=5) == one + 4 * 7


def test_no_noise_value_below_the_minimum_shows_a_group() -> None:
    assert tau(Laplace(Fraction(1, 1000)), unit=10, delta=Decimal("0.9"), l0=1, minimum=3) == 31


@pytest.mark.parametrize("delta", ["0", "-1e-6", "1", "1e-21", "NaN", "Infinity"])
def test_a_delta_that_permits_no_threshold_is_refused(delta: str) -> None:
    with pytest.raises(errors.UnsupportedQuery, match="DP215"):
        tau(Laplace(Fraction(1)), unit=1, delta=Decimal(delta), l0=1)


@pytest.mark.parametrize(("unit", "l0", "minimum"), [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1 << 63, 1)])
def test_counts_out_of_range_are_refused(unit: int, l0: int, minimum: int) -> None:
    with pytest.raises(errors.UnsupportedQuery, match="DP215"):
        tau(Laplace(Fraction(1)), unit=unit, delta=Decimal("1e-6"), l0=l0, minimum=minimum)


@pytest.mark.parametrize("mechanism", [Laplace(Fraction(1, 5)), Gaussian(Fraction(1 << 26))])
def test_the_smallest_delta_over_the_most_groups_has_a_threshold(mechanism: Mechanism) -> None:
    assert tau(mechanism, unit=1, delta=Decimal("1e-20"), l0=1 << 62) > 1
