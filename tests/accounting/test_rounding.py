from __future__ import annotations

from decimal import Decimal, Inexact

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.accounting.rounding import EXACT, float_down, float_up, spend, times


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**6), max_value=10**6))
def test_a_decimal_lies_between_its_two_floats(value: Decimal) -> None:
    low, high = float_down(value), float_up(value)

    assert Decimal(low) <= value <= Decimal(high)
    assert high - low <= 1e-15 * abs(high) + 5e-324


@given(st.floats(1e-12, 60.0), st.floats(1e-12, 60.0))
def test_what_is_left_is_below_the_true_difference(rest: float, charge: float) -> None:
    left = spend(rest, charge)

    assert Decimal(left) < Decimal(rest) - Decimal(charge)


def test_a_charge_below_the_last_digit_still_takes_one() -> None:
    assert spend(1.0, 1e-30) < 1.0


@given(st.floats(1e-6, 60.0), st.floats(1e-3, 60.0))
def test_a_charge_fits_as_often_as_is_said_and_at_most_once_more(rest: float, charge: float) -> None:
    count = times(rest, charge, 10**6)

    left = rest
    for _ in range(min(count, 500)):
        left = spend(left, charge)

    assert left >= 0.0
    assert count > 500 or spend(spend(left, charge), charge) < 0.0


def test_a_free_charge_fits_up_to_the_limit() -> None:
    assert times(1.0, 0.0, 10) == 10
    assert times(1.0, 1e-9, 10) == 10


def test_an_operation_that_would_round_a_budget_raises() -> None:
    with pytest.raises(Inexact):
        EXACT.divide(Decimal(1), Decimal(3))
