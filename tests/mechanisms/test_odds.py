"""Are the 256-bit odds what the formulas say, to the last bit?"""

from __future__ import annotations

from decimal import Decimal, getcontext, localcontext
from fractions import Fraction

import numpy as np
import pytest

from dpsql.mechanisms import odds

SCALES = [
    Fraction(1, 1 << 40),
    Fraction(1, 3),
    Fraction(1),
    Fraction(5, 2),
    Fraction(30720),
    Fraction(987654321, 1234),
    Fraction(1 << 40),
]
ALL = Decimal(1 << 256)


def units(table: odds.Table) -> list[int]:
    return [int.from_bytes(row.tobytes(), "big") for row in table]


def exp(exponent: Fraction) -> Decimal:
    """exp by its series, in exact fractions after halving: shares no code with what is tested."""
    if exponent < -800:
        return Decimal(0)
    halvings = 12
    term = total = Fraction(1)
    for n in range(1, 120):
        term = Fraction(int(term * exponent / (n << halvings) * 10**260), 10**260)
        total += term
    return (Decimal(total.numerator) / Decimal(total.denominator)) ** (1 << halvings)


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_laplace_odds_are_right_to_one_unit_of_two_to_the_minus_256(scale: Fraction) -> None:
    found = units(odds.laplace(scale))

    with localcontext() as context:
        context.prec = 200
        powers = [exp(-(1 << i) / scale) for i in range(len(found) - 2)]
        step = exp(-1 / scale)
        wanted = [p / (1 + p) for p in powers] + [2 * step / (1 + step), Decimal("0.5")]
        errors = [abs(Decimal(have) - ALL * want) for have, want in zip(found, wanted, strict=True)]
    assert max(errors) <= 1


@pytest.mark.parametrize("unit", [Fraction(1, 50), Fraction(2), Fraction(9, 7), Fraction(1 << 53)], ids=str)
def test_failure_odds_are_right_to_one_unit_of_two_to_the_minus_256(unit: Fraction) -> None:
    bound = int(220 * unit) + 2

    found = units(odds.failure(unit, bound))

    with localcontext() as context:
        context.prec = 200
        wanted = [1 - exp(-(1 << i) / unit) for i in range(bound.bit_length())]
        errors = [abs(Decimal(have) - ALL * want) for have, want in zip(found, wanted, strict=True)]
    assert max(errors) <= 1


@pytest.mark.parametrize("scale", SCALES, ids=str)
def test_digits_that_are_left_out_come_up_less_often_than_two_to_the_minus_256(scale: Fraction) -> None:
    digits = len(odds.laplace(scale)) - 2

    with localcontext() as context:
        context.prec = 50
        assert exp(-(1 << digits) / scale) * ALL < 1


def test_the_callers_decimal_precision_does_not_matter() -> None:
    scale = Fraction(777, 10)
    usual = odds.laplace(scale)
    odds.laplace.cache_clear()

    with localcontext() as context:
        context.prec = 5
        low = odds.laplace(scale)

    assert np.array_equal(usual, low)
    assert getcontext().prec == 28


def test_a_cached_table_cannot_be_changed() -> None:
    table = odds.laplace(Fraction(3))

    with pytest.raises(ValueError, match="read-only"):
        table[0, 0] = 0
