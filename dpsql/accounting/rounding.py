"""Which way is a number rounded so that a budget never gains?"""

from __future__ import annotations

from decimal import Context, Decimal, DivisionByZero, Inexact, InvalidOperation, Overflow
from math import floor, inf, nextafter
from typing import Final

EXACT: Final = Context(prec=400, traps=[Inexact, InvalidOperation, DivisionByZero, Overflow])
"""Decimal context of budgets: an operation that would round raises instead.

Its precision is above what sums of admitted losses can reach.
"""

RELATIVE: Final = 1e-9
"""Surcharge on every float charge; it covers the float error of a price many times over."""


def float_up(value: Decimal) -> float:
    """A float that is not below `value`."""
    nearest = float(value)
    return nearest if Decimal(nearest) >= value else nextafter(nearest, inf)


def float_down(value: Decimal) -> float:
    """A float that is not above `value`."""
    return -float_up(value.copy_negate())


def spend(rest: float, charge: float) -> float:
    """What is left of `rest` after `charge`: surcharged, then one more ulp down, so no charge vanishes."""
    return nextafter(rest - charge * (1.0 + RELATIVE), -inf)


def times(rest: float, charge: float, limit: int) -> int:
    """How often `charge` can be spent from `rest`, at most `limit`; at most one too low."""
    if charge <= 0.0:
        return limit
    count = rest / (charge * (1.0 + RELATIVE) + nextafter(rest, inf) - rest)
    return limit if count >= limit else floor(count)
