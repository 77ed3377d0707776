"""How is an expression written so that no row can make it fail?

The text is made from our own tree, never taken from the analyst. Integer arithmetic runs in a width its
ranges prove wide enough, divisors are guarded, conversions give NULL, and doubles are written with an
exponent, because the engine reads `100.0` as a decimal.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Final, assert_never

from dpsql import errors
from dpsql.analysis.bounds import Interval, interval, signed
from dpsql.errors import UnsupportedQuery
from dpsql.sql.expression import Aggregate, Call, Case, Cast, Column, Expression, Literal, Type
from dpsql.sql.functions import unify

SQL_TYPES: Final[dict[Type, str]] = {
    Type.BOOLEAN: "BOOLEAN",
    Type.INTEGER: "BIGINT",
    Type.DOUBLE: "DOUBLE",
    Type.TEXT: "VARCHAR",
    Type.DATE: "DATE",
    Type.TIMESTAMP: "TIMESTAMP",
}

_COMPARISONS: Final = {"eq": "=", "ne": "<>", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_ARITHMETIC: Final = {"add": "+", "sub": "-", "mul": "*"}
_DIVISIONS: Final = {"intdiv": "//", "mod": "%"}
_PLAIN: Final = {
    "lower": "LOWER",
    "upper": "UPPER",
    "trim": "TRIM",
    "length": "LENGTH",
    "starts_with": "STARTS_WITH",
    "contains": "CONTAINS",
    "substring": "SUBSTRING",
    "left": "LEFT",
    "right": "RIGHT",
    "sqrt": "SQRT",
    "ln": "LN",
    "exp": "EXP",
}
_DATE_PARTS: Final = {
    "year": "YEAR",
    "quarter": "QUARTER",
    "month": "MONTH",
    "week": "WEEK",
    "day": "DAY",
    "dayofweek": "DAYOFWEEK",
    "isodow": "ISODOW",
    "dayofyear": "DAYOFYEAR",
}

Names = Callable[[Column], str]
Bounds = Mapping[tuple[str, str], Interval]


def quote(name: str) -> str:
    """An identifier in double quotes."""
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string constant."""
    return "'" + value.replace("'", "''") + "'"


def double(value: Fraction | Decimal | float) -> str:
    """A number as a DOUBLE constant."""
    number = repr(float(value))
    return number if "e" in number else f"{number}e0"


def constant(literal: Literal) -> str:
    """A literal of the query as a constant of the engine's type."""
    match literal.value:
        case None:
            return "NULL"
        case bool():
            return "TRUE" if literal.value else "FALSE"
        case int() if literal.type is Type.INTEGER:
            return str(literal.value) if literal.value >= 0 else f"({literal.value})"
        case int() | Decimal() | float():
            number = double(literal.value)
            return number if not number.startswith("-") else f"({number})"
        case str():
            return text(literal.value)
        case datetime.datetime():
            return f"TIMESTAMP '{literal.value.isoformat(sep=' ')}'"
        case datetime.date():
            return f"DATE '{literal.value.isoformat()}'"


class Renderer:
    """Writes expressions over columns whose spelling ``names`` gives.

    With ``bounds``, numeric columns are clipped to them where their value is used, never in a condition:
    that is the form in which values are summed.
    """

    def __init__(self, names: Names, bounds: Bounds | None = None) -> None:
        self._names = names
        self._bounds = bounds

    def __call__(self, expression: Expression) -> str:
        """The expression as SQL.

        Raises:
            UnsupportedQuery: DP208 when integer arithmetic could leave 126 bits.
        """
        match expression:
            case Literal():
                return constant(expression)
            case Column():
                return self._column(expression)
            case Call():
                return self._call(expression)
            case Case():
                return self._case(expression)
            case Cast():
                return f"TRY_CAST({self(expression.operand)} AS {expression.target})"
            case Aggregate():
                raise TypeError("an aggregate is measured, not rendered")
            case _ as unreachable:
                assert_never(unreachable)

    def key(self, expression: Expression) -> str:
        """The expression as a group key: NULL where a value does not fit the type of a column.

        That is a whole number of more than 63 bits, and a day that no calendar holds, such as infinity.
        """
        value = self(expression)
        if expression.type is Type.INTEGER and not self._range(expression).within(-(2**63), 2**63 - 1):
            return f"TRY_CAST({value} AS BIGINT)"
        if expression.type in (Type.DATE, Type.TIMESTAMP):
            return f"CASE WHEN {value} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN {value} END"
        return value

    def condition(self, expression: Expression) -> str:
        """The same without clips: a condition sees what the row holds."""
        return Renderer(self._names)(expression)

    def _column(self, column: Column) -> str:
        name = self._names(column)
        bounds = None if self._bounds is None else self._bounds.get((column.source, column.name))
        if bounds is None:
            return name
        return clip(name, bounds, integer=column.type is Type.INTEGER)

    def _range(self, expression: Expression) -> Interval:
        """The range of an integer expression, in whose width it must be computed."""

        def environment(part: Expression) -> Interval | None:
            if isinstance(part, Column) and self._bounds is not None:
                declared = self._bounds.get((part.source, part.name))
                if declared is not None:
                    return declared
            return signed(63) if part.type is Type.INTEGER else None

        return interval(expression, environment) or signed(63)

    def _call(self, call: Call) -> str:
        name = call.function
        if call.type is Type.BOOLEAN:
            return self._boolean(call)
        if name in _ARITHMETIC or name in _DIVISIONS or name in ("neg", "abs"):
            return self._number(call)
        if name in _DATE_PARTS or name.startswith("trunc_"):
            return self._date(call)
        match name:
            case "div":
                return f"({self._double(call.arguments[0])} / {self._double(call.arguments[1])})"
            case "floor" | "ceil" | "round":
                return self._rounded(call)
            case "coalesce" | "least" | "greatest" | "nullif":
                return f"{name.upper()}({', '.join(self._as(a, call.type) for a in call.arguments)})"
            case "concat":
                return f"({' || '.join(self(argument) for argument in call.arguments)})"
            case "sqrt" | "ln" | "exp":
                return f"{_PLAIN[name]}({self._double(call.arguments[0])})"
            case _:
                return f"{_PLAIN[name]}({', '.join(self(argument) for argument in call.arguments)})"

    def _boolean(self, call: Call) -> str:
        if self._bounds is not None:
            return self.condition(call)
        parts = call.arguments
        match call.function:
            case "and" | "or":
                return f"({f' {call.function.upper()} '.join(self(part) for part in parts)})"
            case "not":
                return f"(NOT {self(parts[0])})"
            case "is_null":
                return f"({self(parts[0])} IS NULL)"
            case "is_not_distinct_from":
                left, right = self._alike(parts)
                return f"({left} IS NOT DISTINCT FROM {right})"
            case "in":
                subject, *values = self._alike(parts)
                return f"({subject} IN ({', '.join(values)}))"
            case "like" | "ilike":
                return f"({self(parts[0])} {call.function.upper()} {self(parts[1])})"
            case function if function in _COMPARISONS:
                left, right = self._alike(parts)
                return f"({left} {_COMPARISONS[function]} {right})"
            case "coalesce" | "least" | "greatest" | "nullif":
                return f"{call.function.upper()}({', '.join(self(part) for part in parts)})"
            case _:
                return f"{_PLAIN[call.function]}({', '.join(self(part) for part in parts)})"

    def _alike(self, parts: tuple[Expression, ...]) -> list[str]:
        """Operands of one comparison, integers as doubles where one is a double."""
        common = unify(tuple(part.type for part in parts)) or Type.NULL
        return [self._as(part, common) for part in parts]

    def _as(self, expression: Expression, wanted: Type) -> str:
        return self._double(expression) if wanted is Type.DOUBLE else self(expression)

    def _double(self, expression: Expression) -> str:
        if isinstance(expression, Literal) and isinstance(expression.value, (int, Decimal, float)):
            return constant(Literal(expression.value, Type.DOUBLE))
        if expression.type is Type.DOUBLE:
            return self(expression)
        return f"CAST({self(expression)} AS DOUBLE)"

    def _number(self, call: Call) -> str:
        if call.function in _DIVISIONS and call.type is Type.INTEGER and _positive(call.arguments[1]):
            # A divisor of at least 1 leaves the dividend in its own type.
            return f"({self(call.arguments[0])} {_DIVISIONS[call.function]} {self(call.arguments[1])})"
        if call.type is Type.DOUBLE:
            operands = [self._double(argument) for argument in call.arguments]
        else:
            kind = self._integer_type(call)
            operands = [f"CAST({self(argument)} AS {kind})" for argument in call.arguments]
        match call.function:
            case "neg":
                return f"(- {operands[0]})"
            case "abs":
                return f"ABS({operands[0]})"
            case function if function in _DIVISIONS:
                divided = f"{operands[0]} {_DIVISIONS[function]} {operands[1]}"
                return f"CASE WHEN {operands[1]} <> 0 THEN {divided} END"
            case function:
                return f"({operands[0]} {_ARITHMETIC[function]} {operands[1]})"

    def _integer_type(self, call: Call) -> str:
        ranges = [self._range(call), *(self._range(argument) for argument in call.arguments)]
        if all(part.within(-(2**63) + 1, 2**63 - 1) or part == signed(63) for part in ranges[1:]) and ranges[
            0
        ].within(-(2**63) + 1, 2**63 - 1):
            return "BIGINT"
        if all(part.within(-(2**126), 2**126) for part in ranges):
            return "HUGEINT"
        raise UnsupportedQuery(
            errors.UNBOUNDED,
            "Whole-number arithmetic could leave the range of 126 bits.",
            hint="Compute in doubles, as in CAST(x AS DOUBLE) * y.",
            position=call.position,
        )

    def _rounded(self, call: Call) -> str:
        operand = call.arguments[0]
        if operand.type is not Type.DOUBLE:
            return self(operand)
        if call.function == "round":
            return f"ROUND({self(operand)}, {self(call.arguments[1])})"
        return f"{call.function.upper()}({self(operand)})"

    def _date(self, call: Call) -> str:
        # Outside these years the engine's date functions raise.
        day = self(call.arguments[0])
        if call.function in _DATE_PARTS:
            value = f"{_DATE_PARTS[call.function]}({day})"
        else:
            unit = call.function.removeprefix("trunc_")
            value = f"CAST(DATE_TRUNC('{unit}', {day}) AS DATE)"
        return f"CASE WHEN {day} BETWEEN DATE '0001-01-08' AND DATE '9999-12-31' THEN {value} END"

    def _case(self, case: Case) -> str:
        branches = " ".join(
            f"WHEN {self.condition(condition)} THEN {self._as(value, case.type)}"
            for condition, value in case.branches
        )
        return f"CASE {branches} ELSE {self._as(case.default, case.type)} END"


def _positive(expression: Expression) -> bool:
    return isinstance(expression, Literal) and isinstance(expression.value, int) and expression.value >= 1


def clip(value: str, bounds: Interval, *, integer: bool) -> str:
    """The value moved into its bounds; NULL stays NULL, NaN becomes the upper bound."""
    if integer:
        low, high = str(int(bounds.lower)), str(int(bounds.upper))
    else:
        low, high = double(bounds.lower), double(bounds.upper)
    return f"CASE WHEN {value} > {high} THEN {high} WHEN {value} < {low} THEN {low} ELSE {value} END"
