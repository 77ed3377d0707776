"""What does a wanted error cost?"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, TypeAlias

from dpsql import errors
from dpsql.errors import PolicyRefused
from dpsql.plan.plan import Plan
from dpsql.plan.price import LARGEST_EPSILON, SMALLEST_EPSILON, Price
from dpsql.sql.expression import Column

Wish: TypeAlias = str | Mapping[str, str]
"""A half-width for the first noisy column, or one for each named column: "±50", "5% of 400"."""

_NUMBER: Final = r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)"
_PLAIN: Final = re.compile(rf"(?:±|\+-|\+/-)?\s*{_NUMBER}")
_SHARE: Final = re.compile(rf"{_NUMBER}\s*%\s*of\s*{_NUMBER}")


@dataclass(frozen=True, slots=True)
class Target:
    """A half-width that one measurement of a plan must reach."""

    measurement: int
    error: float


def cheapest(priced: Callable[[Price], Plan], wish: Wish, start: Price) -> Plan:
    """The plan of the smallest epsilon, to three digits, whose measurements reach the wanted errors.

    Raises:
        PolicyRefused: DP215 when the wish cannot be read, names no plain noisy column, or cannot be reached.
    """
    targets = _targets(priced(start), wish)
    low, high = SMALLEST_EPSILON, LARGEST_EPSILON
    best = priced(replace(start, epsilon=high))
    if not _reached(best, targets):
        raise _refusal("No epsilon reaches the wanted error.")
    while True:
        middle = Decimal(f"{(low * high).sqrt():.3g}")
        if not low < middle < high:
            return best
        plan = priced(replace(start, epsilon=middle))
        if _reached(plan, targets):
            best, high = plan, middle
        else:
            low = middle


def _reached(plan: Plan, targets: tuple[Target, ...]) -> bool:
    return all(plan.measurements[target.measurement].half_width <= target.error for target in targets)


def _targets(plan: Plan, wish: Wish) -> tuple[Target, ...]:
    noisy = {
        item.name.lower(): int(item.expression.name[1:]) - 1
        for item in plan.analysis.outer.items
        if isinstance(item.expression, Column) and item.expression.name.startswith("m")
    }
    if isinstance(wish, str):
        if not noisy:
            raise _refusal("The query has no plain COUNT or SUM whose error could be asked for.")
        return (Target(next(iter(noisy.values())), _half_width(wish)),)
    unknown = next((name for name in wish if name.lower() not in noisy), None)
    if unknown is not None:
        raise _refusal(f"The query has no plain COUNT or SUM called {unknown!r}.")
    return tuple(Target(noisy[name.lower()], _half_width(text)) for name, text in wish.items())


def _half_width(text: object) -> float:
    if not isinstance(text, str):
        raise _refusal("The wanted error of a column is not a text.")
    plain, share = _PLAIN.fullmatch(text.strip()), _SHARE.fullmatch(text.strip())
    if plain is not None:
        value = float(plain.group(1))
    elif share is not None:
        value = float(share.group(1)) / 100 * float(share.group(2))
    else:
        raise _refusal("The wanted error is not of the form ±50 or 5% of 400.")
    if not 0 < value < float("inf"):
        raise _refusal("The wanted error must be above 0.")
    return value


def _refusal(message: str) -> PolicyRefused:
    return PolicyRefused(
        errors.UNSAFE_NUMBER,
        message,
        hint="Say error='±50', or '5% of 400' for a public number; a bare percentage has no public meaning.",
    )
