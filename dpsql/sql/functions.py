"""Which functions and operators a query may use: the allow-list, with the types each is defined for.

A function stands here when it has a total implementation on every engine we run: it gives a value or
NULL for every input, never an error that would tell of a row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from dpsql.sql.expression import Type

Typing: TypeAlias = Callable[[tuple[Type, ...]], Type | None]


@dataclass(frozen=True, slots=True)
class Function:
    """One entry of the allow-list; ``typing`` gives the result's type, or None where it is not defined."""

    name: str
    spelling: str
    group: str
    typing: Typing


FUNCTIONS: Final[dict[str, Function]] = {}


def _allow(group: str, typing: Typing, **spellings: str) -> None:
    for name, spelling in spellings.items():
        key = name.rstrip("_")
        FUNCTIONS[key] = Function(key, spelling, group, typing)


def unify(types: tuple[Type, ...]) -> Type | None:
    """The one type that values of all given types have; integers widen to double. None if there is none."""
    known = {t for t in types if t is not Type.NULL}
    if not known:
        return Type.NULL
    if len(known) == 1:
        return known.pop()
    return Type.DOUBLE if known == {Type.INTEGER, Type.DOUBLE} else None


def _numbers(types: tuple[Type, ...]) -> Type | None:
    common = unify(types)
    return common if common is not None and (common.numeric or common is Type.NULL) else None


def _integers(types: tuple[Type, ...]) -> Type | None:
    return Type.INTEGER if unify(types) in (Type.INTEGER, Type.NULL) else None


def _doubles(types: tuple[Type, ...]) -> Type | None:
    return Type.DOUBLE if _numbers(types) is not None else None


def _comparable(types: tuple[Type, ...]) -> Type | None:
    return Type.BOOLEAN if unify(types) is not None else None


def _conditions(types: tuple[Type, ...]) -> Type | None:
    return Type.BOOLEAN if unify(types) in (Type.BOOLEAN, Type.NULL) else None


def _any(types: tuple[Type, ...]) -> Type | None:
    return Type.BOOLEAN


def _texts(result: Type) -> Typing:
    def typing(types: tuple[Type, ...]) -> Type | None:
        return result if unify(types) in (Type.TEXT, Type.NULL) else None

    return typing


def _text_then_integers(types: tuple[Type, ...]) -> Type | None:
    if unify(types[:1]) not in (Type.TEXT, Type.NULL) or _integers(types[1:]) is None:
        return None
    return Type.TEXT


def _number_then_digits(types: tuple[Type, ...]) -> Type | None:
    return None if _integers(types[1:]) is None else _numbers(types[:1])


def _whole(types: tuple[Type, ...]) -> Type | None:
    return _numbers(types)


def _date_part(types: tuple[Type, ...]) -> Type | None:
    return Type.INTEGER if unify(types) in (Type.DATE, Type.TIMESTAMP, Type.NULL) else None


def _date_floor(types: tuple[Type, ...]) -> Type | None:
    return Type.DATE if unify(types) in (Type.DATE, Type.TIMESTAMP, Type.NULL) else None


_allow("arithmetic", _numbers, add="a + b", sub="a - b", mul="a * b", neg="-a", abs="ABS(a)", mod="a % b")
_allow("arithmetic", _doubles, div="a / b", sqrt="SQRT(a)", ln="LN(a)", exp="EXP(a)")
_allow("arithmetic", _integers, intdiv="a // b")
_allow("arithmetic", _whole, floor="FLOOR(a)", ceil="CEIL(a)")
_allow("arithmetic", _number_then_digits, round="ROUND(a, digits)")
_allow("comparison", _comparable, eq="a = b", ne="a <> b", lt="a < b", le="a <= b", gt="a > b", ge="a >= b")
_allow("comparison", _comparable, in_="a IN (1, 2)", is_not_distinct_from="a IS NOT DISTINCT FROM b")
_allow("comparison", _any, is_null="a IS NULL")
_allow("logic", _conditions, and_="a AND b", or_="a OR b", not_="NOT a")
_allow(
    "choice",
    unify,
    coalesce="COALESCE(a, b)",
    least="LEAST(a, b)",
    greatest="GREATEST(a, b)",
    nullif="NULLIF(a, b)",
)
_allow("text", _texts(Type.TEXT), lower="LOWER(a)", upper="UPPER(a)", trim="TRIM(a)", concat="a || b")
_allow("text", _texts(Type.INTEGER), length="LENGTH(a)")
_allow("text", _texts(Type.BOOLEAN), like="a LIKE 'x%'", ilike="a ILIKE 'x%'")
_allow("text", _texts(Type.BOOLEAN), starts_with="STARTS_WITH(a, 'x')", contains="CONTAINS(a, 'x')")
_allow("text", _text_then_integers, substring="SUBSTRING(a, 1, 2)", left="LEFT(a, 2)", right="RIGHT(a, 2)")
_allow(
    "date", _date_part, year="YEAR(d)", quarter="QUARTER(d)", month="MONTH(d)", week="WEEK(d)", day="DAY(d)"
)
_allow(
    "date", _date_part, dayofweek="DAYOFWEEK(d)", isodow="EXTRACT(isodow FROM d)", dayofyear="DAYOFYEAR(d)"
)
_allow("date", _date_floor, trunc_year="DATE_TRUNC('year', d)", trunc_quarter="DATE_TRUNC('quarter', d)")
_allow("date", _date_floor, trunc_month="DATE_TRUNC('month', d)", trunc_week="DATE_TRUNC('week', d)")
