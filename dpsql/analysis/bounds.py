"""Between which numbers does an expression lie?

An interval is never an assumption about data: the rewriter emits it as a clip, at the columns that are
summed and again at the aggregate's input. For integers it also decides the width in which they are
computed, so that no arithmetic can overflow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, TypeAlias, assert_never

from dpsql.sql.expression import Aggregate, Call, Case, Cast, Column, Expression, Literal, Type

LARGEST: Final = 2**62
"""No bound of a summed value may exceed this; beyond it a plan is refused."""


@dataclass(frozen=True, slots=True)
class Interval:
    """All values from ``lower`` to ``upper``, both included, and NULL if ``nullable``."""

    lower: Fraction
    upper: Fraction
    nullable: bool = True

    def __post_init__(self) -> None:
        if self.lower > self.upper:
            raise ValueError("an interval's lower end is above its upper end")

    @property
    def magnitude(self) -> Fraction:
        """The largest absolute value."""
        return max(abs(self.lower), abs(self.upper))

    def within(self, lower: int, upper: int) -> bool:
        """Whether every value lies between the two."""
        return lower <= self.lower and self.upper <= upper


Environment: TypeAlias = Callable[[Expression], Interval | None]
"""The interval of a column, or of a part that has no rule of its own; None where there is none."""

_INTEGERS: Final[dict[str, int]] = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31, "BIGINT": 63}

_PARTS: Final[dict[str, tuple[int, int]]] = {
    "year": (1, 9999),
    "quarter": (1, 4),
    "month": (1, 12),
    "week": (1, 53),
    "day": (1, 31),
    "dayofweek": (0, 6),
    "isodow": (1, 7),
    "dayofyear": (1, 366),
}


def signed(bits: int) -> Interval:
    """The range of a signed integer of that many bits and a sign."""
    return Interval(Fraction(-(2**bits)), Fraction(2**bits - 1))


def interval(expression: Expression, environment: Environment) -> Interval | None:
    """The range of a numeric expression, or None when it cannot be bounded."""
    match expression:
        case Literal(value=None):
            return None
        case Literal(value=value, type=type_) if type_.numeric:
            exact = Fraction(value)  # type: ignore[arg-type]
            return Interval(exact, exact, nullable=False)
        case Literal():
            return None
        case Column():
            return environment(expression)
        case Call():
            return _call(expression, environment)
        case Case(branches=branches, default=default):
            values = [value for _, value in branches]
            return _union([*values, default], environment)
        case Cast():
            return _cast(expression, environment)
        case Aggregate():
            return None
        case _ as unreachable:
            assert_never(unreachable)


def _union(values: list[Expression], environment: Environment) -> Interval | None:
    known = [value for value in values if value.type is not Type.NULL]
    found = [interval(value, environment) for value in known]
    parts = [part for part in found if part is not None]
    if not parts or len(parts) < len(found):
        return None
    nullable = len(known) < len(values) or any(part.nullable for part in parts)
    return Interval(min(p.lower for p in parts), max(p.upper for p in parts), nullable)


def _call(call: Call, environment: Environment) -> Interval | None:
    if call.function in _PARTS:
        low, high = _PARTS[call.function]
        return Interval(Fraction(low), Fraction(high))
    if call.function in ("coalesce", "least", "greatest"):
        return _choice(call, environment)
    rule = _RULES.get(call.function)
    if rule is None:
        return environment(call)
    arguments = [interval(argument, environment) for argument in call.arguments]
    if any(argument is None for argument in arguments):
        return None
    known = [argument for argument in arguments if argument is not None]
    return rule(*known)


def _choice(call: Call, environment: Environment) -> Interval | None:
    """COALESCE, LEAST and GREATEST: all skip NULL, so a nullable argument may leave the choice to others."""
    union = _union(list(call.arguments), environment)
    if union is None:
        return None
    parts = [interval(a, environment) for a in call.arguments if a.type is not Type.NULL]
    sure = [part for part in parts if part is not None and not part.nullable]
    nullable = union.nullable and not sure
    if call.function == "least" and sure:
        return Interval(union.lower, min(part.upper for part in sure), nullable)
    if call.function == "greatest" and sure:
        return Interval(max(part.lower for part in sure), union.upper, nullable)
    return Interval(union.lower, union.upper, nullable)


def _add(a: Interval, b: Interval) -> Interval:
    return Interval(a.lower + b.lower, a.upper + b.upper, a.nullable or b.nullable)


def _neg(a: Interval) -> Interval:
    return Interval(-a.upper, -a.lower, a.nullable)


def _sub(a: Interval, b: Interval) -> Interval:
    return _add(a, _neg(b))


def _mul(a: Interval, b: Interval) -> Interval:
    corners = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
    return Interval(min(corners), max(corners), a.nullable or b.nullable)


def _div(a: Interval, b: Interval) -> Interval | None:
    if b.lower <= 0 <= b.upper:
        return None
    return _mul(a, Interval(1 / b.upper, 1 / b.lower, b.nullable))


def _intdiv(a: Interval, b: Interval) -> Interval:
    # A zero divisor gives NULL; any other divides by at least one.
    if b.lower == b.upper != 0:
        ends = [Fraction(math.trunc(end / b.lower)) for end in (a.lower, a.upper)]
        return Interval(min(ends), max(ends), a.nullable or b.nullable)
    if a.lower >= 0 and b.lower > 0:
        return Interval(
            a.lower // b.upper * Fraction(1), Fraction(a.upper // b.lower), a.nullable or b.nullable
        )
    return Interval(-a.magnitude, a.magnitude)


def _mod(a: Interval, b: Interval) -> Interval:
    largest = min(a.magnitude, b.magnitude)
    return Interval(-largest if a.lower < 0 else Fraction(0), largest if a.upper > 0 else Fraction(0))


def _abs(a: Interval) -> Interval:
    low = Fraction(0) if a.lower <= 0 <= a.upper else min(abs(a.lower), abs(a.upper))
    return Interval(low, a.magnitude, a.nullable)


def _floor(a: Interval) -> Interval:
    return Interval(Fraction(math.floor(a.lower)), Fraction(math.floor(a.upper)), a.nullable)


def _ceil(a: Interval) -> Interval:
    return Interval(Fraction(math.ceil(a.lower)), Fraction(math.ceil(a.upper)), a.nullable)


def _round(a: Interval, digits: Interval) -> Interval:
    unit = Fraction(1, 10 ** int(digits.lower))
    low, high = math.floor(a.lower / unit) * unit, math.ceil(a.upper / unit) * unit
    return Interval(low, high, a.nullable)


def _sqrt(a: Interval) -> Interval | None:
    if a.lower < 0 or a.upper > LARGEST:
        return None
    return Interval(_outward(math.sqrt(a.lower), -1), _outward(math.sqrt(a.upper), 1), a.nullable)


def _ln(a: Interval) -> Interval | None:
    if a.lower <= 0 or a.upper > LARGEST:
        return None
    return Interval(_outward(math.log(a.lower), -1), _outward(math.log(a.upper), 1), a.nullable)


def _exp(a: Interval) -> Interval | None:
    if a.upper > 40 or a.lower < -LARGEST:
        return None
    return Interval(_outward(math.exp(a.lower), -1), _outward(math.exp(a.upper), 1), a.nullable)


def _outward(value: float, direction: int) -> Fraction:
    return Fraction(math.nextafter(value, math.inf * direction))


def _nullif(a: Interval, _: Interval) -> Interval:
    return Interval(a.lower, a.upper)


_RULES: Final[dict[str, Callable[..., Interval | None]]] = {
    "add": _add,
    "sub": _sub,
    "mul": _mul,
    "div": _div,
    "intdiv": _intdiv,
    "mod": _mod,
    "neg": _neg,
    "abs": _abs,
    "floor": _floor,
    "ceil": _ceil,
    "round": _round,
    "sqrt": _sqrt,
    "ln": _ln,
    "exp": _exp,
    "nullif": _nullif,
}


def _cast(cast: Cast, environment: Environment) -> Interval | None:
    if cast.operand.type is Type.BOOLEAN and cast.type is Type.INTEGER:
        return Interval(Fraction(0), Fraction(1))
    if not cast.operand.type.numeric or not cast.type.numeric:
        return environment(cast)
    inner = interval(cast.operand, environment)
    if inner is None:
        # A whole number of unknown size; the caller may know how many bits its type has.
        return environment(cast)
    if cast.type is Type.DOUBLE:
        return inner
    limits = signed(_INTEGERS[cast.target])
    low = max(Fraction(math.floor(inner.lower)), limits.lower)
    high = min(Fraction(math.ceil(inner.upper)), limits.upper)
    # Outside the target's range the cast gives NULL.
    return Interval(low, high) if low <= high else Interval(Fraction(0), Fraction(0))
