"""From which noise value on is the rest of the law below a given chance?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from decimal import Decimal

from dpsql import errors


def first_below(tail: Callable[[int], float], chance: Decimal, last: int) -> int:
    """Smallest k in 1..`last` with tail(k) <= `chance`, for a falling `tail`.

    Raises:
        UnsupportedQuery: there is none.
    """
    steps = range(1, last + 1)
    found = bisect_left(steps, -chance, key=lambda k: -Decimal(tail(k)))
    if found < len(steps):
        return steps[found]
    raise errors.UnsupportedQuery(
        errors.UNSAFE_NUMBER,
        f"No noise value is as rare as {chance:.3g}.",
        hint="Ask for a larger delta, or a confidence further from 1.",
    )


def one_sided_miss(confidence: float) -> Decimal:
    """Chance that symmetric noise leaves its interval on one side: (1 - confidence) / 2, exact in decimals.

    Raises:
        UnsupportedQuery: the confidence is not between 0 and 1.
    """
    if 0 < confidence < 1:
        return (1 - Decimal(repr(confidence))) / 2
    raise errors.UnsupportedQuery(
        errors.UNSAFE_NUMBER,
        f"A confidence of {confidence} is not between 0 and 1.",
        hint="The usual confidence is 0.95.",
    )
