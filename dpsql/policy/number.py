"""Which numbers can a policy hold, and how are they read exactly?"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Final

from pydantic import PlainValidator, WithJsonSchema

MAX_EPSILON: Final = Decimal(1000)
"""No budget above this is a promise; the privacy filter's own limit is far lower."""

MAX_QUERY_EPSILON: Final = Decimal(50)
MIN_QUERY_EPSILON: Final = Decimal("1e-6")
MIN_DELTA: Final = Decimal("1e-20")
"""Events outside these ranges are refused by the accountant, so no policy may ask for them."""

MAX_MAGNITUDE: Final = Decimal("1e30")
MIN_MAGNITUDE: Final = Decimal("1e-30")
"""Bounds and steps stay where binary floats hold them with room for sums over rows."""

MAX_DIGITS: Final = 60
"""Sums of budgets are exact decimals; this keeps them short."""

GRID_BITS: Final = 52
"""A value on its grid is an integer below 2^52, so that doubles hold every grid point exactly."""


def exact(value: object) -> Decimal:
    """`value` as the decimal that was written; a binary float is refused because it no longer is that.

    Raises:
        ValueError: the value is no number, or not finite.
    """
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise ValueError(f"must be a number, not {describe(value)}")
    number = Decimal(value)
    if not number.is_finite():
        raise ValueError("must be a finite number")
    if len(number.as_tuple().digits) > MAX_DIGITS or abs(number.adjusted()) > MAX_DIGITS:
        raise ValueError(f"must be a number of at most {MAX_DIGITS} digits")
    return number


def describe(value: object) -> str:
    """How a message names a value of the policy file."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case str():
            return f"the text {value[:40]!r}"
        case dict():
            return "a mapping"
        case list() | tuple():
            return "a list"
        case float():
            return f"the binary float {value!r} (write Decimal({str(value)!r}))"
        case _:
            return str(value)[:40]


def _budget_epsilon(value: object) -> Decimal:
    epsilon = exact(value)
    if epsilon <= 0:
        raise ValueError("epsilon must be above 0")
    if not MIN_QUERY_EPSILON <= epsilon <= MAX_EPSILON:
        raise ValueError(f"epsilon must lie between {MIN_QUERY_EPSILON:f} and {MAX_EPSILON}")
    return epsilon


def _query_epsilon(value: object) -> Decimal:
    epsilon = exact(value)
    if epsilon <= 0:
        raise ValueError("epsilon must be above 0")
    if not MIN_QUERY_EPSILON <= epsilon <= MAX_QUERY_EPSILON:
        raise ValueError(
            f"the epsilon of a query must lie between {MIN_QUERY_EPSILON:f} and {MAX_QUERY_EPSILON}"
        )
    return epsilon


def _delta(value: object) -> Decimal:
    delta = exact(value)
    if not 0 <= delta < 1:
        raise ValueError("delta must be at least 0 and below 1")
    if 0 < delta < MIN_DELTA:
        raise ValueError(f"delta must be 0 or at least {MIN_DELTA}")
    return delta


def _positive(value: object) -> Decimal:
    number = exact(value)
    if number <= 0:
        raise ValueError("must be above 0")
    if not MIN_MAGNITUDE <= number <= MAX_MAGNITUDE:
        raise ValueError(f"must lie between {MIN_MAGNITUDE} and {MAX_MAGNITUDE}")
    return number


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"must be a whole number, not {describe(value)}")
    if not 1 <= value < 2**31:
        raise ValueError("must be at least 1 and below 2^31")
    return value


_ABOVE_ZERO = WithJsonSchema({"type": "number", "exclusiveMinimum": 0})
_FRACTION = WithJsonSchema({"type": "number", "minimum": 0, "exclusiveMaximum": 1})
_WHOLE = WithJsonSchema({"type": "integer", "minimum": 1})

BudgetEpsilon = Annotated[Decimal, PlainValidator(_budget_epsilon), _ABOVE_ZERO]
QueryEpsilon = Annotated[Decimal, PlainValidator(_query_epsilon), _ABOVE_ZERO]
Delta = Annotated[Decimal, PlainValidator(_delta), _FRACTION]
Positive = Annotated[Decimal, PlainValidator(_positive), _ABOVE_ZERO]
Count = Annotated[int, PlainValidator(_count), _WHOLE]
