"""What does the parser call each function of the allow-list, each date part, each type?"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from dpsql.sql.expression import Type

BINARY: Final[dict[type[exp.Expr], str]] = {
    exp.Add: "add",
    exp.Sub: "sub",
    exp.Mul: "mul",
    exp.Div: "div",
    exp.IntDiv: "intdiv",
    exp.Mod: "mod",
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
    exp.NullSafeEQ: "is_not_distinct_from",
    exp.And: "and",
    exp.Or: "or",
    exp.DPipe: "concat",
    exp.Nullif: "nullif",
    exp.StartsWith: "starts_with",
    exp.Contains: "contains",
}

UNARY: Final[dict[type[exp.Expr], str]] = {
    exp.Abs: "abs",
    exp.Sqrt: "sqrt",
    exp.Ln: "ln",
    exp.Exp: "exp",
    exp.Floor: "floor",
    exp.Ceil: "ceil",
    exp.Not: "not",
    exp.Lower: "lower",
    exp.Upper: "upper",
    exp.Trim: "trim",
    exp.Length: "length",
    exp.Year: "year",
    exp.Quarter: "quarter",
    exp.Month: "month",
    exp.Week: "week",
    exp.WeekOfYear: "week",
    exp.Day: "day",
    exp.DayOfMonth: "day",
    exp.DayOfWeek: "dayofweek",
    exp.DayOfWeekIso: "isodow",
    exp.DayOfYear: "dayofyear",
}

LISTS: Final[dict[type[exp.Expr], str]] = {
    exp.Coalesce: "coalesce",
    exp.Least: "least",
    exp.Greatest: "greatest",
}

PARTS: Final = {
    "YEAR": "year",
    "QUARTER": "quarter",
    "MONTH": "month",
    "WEEK": "week",
    "DAY": "day",
    "DOW": "dayofweek",
    "DAYOFWEEK": "dayofweek",
    "ISODOW": "isodow",
    "DOY": "dayofyear",
    "DAYOFYEAR": "dayofyear",
}

TRUNCATIONS: Final = {
    "YEAR": "trunc_year",
    "QUARTER": "trunc_quarter",
    "MONTH": "trunc_month",
    "WEEK": "trunc_week",
}

TARGETS: Final[dict[str, tuple[str, Type]]] = {
    "TINYINT": ("TINYINT", Type.INTEGER),
    "SMALLINT": ("SMALLINT", Type.INTEGER),
    "INT": ("INTEGER", Type.INTEGER),
    "BIGINT": ("BIGINT", Type.INTEGER),
    "DOUBLE": ("DOUBLE", Type.DOUBLE),
    "VARCHAR": ("VARCHAR", Type.TEXT),
    "TEXT": ("VARCHAR", Type.TEXT),
    "BOOLEAN": ("BOOLEAN", Type.BOOLEAN),
    "DATE": ("DATE", Type.DATE),
    "TIMESTAMPNTZ": ("TIMESTAMP", Type.TIMESTAMP),
}

# Which conversions have a value for every input, or NULL.
CONVERSIONS: Final[dict[Type, frozenset[Type]]] = {
    Type.TEXT: frozenset({Type.TEXT, Type.INTEGER, Type.DOUBLE, Type.DATE, Type.TIMESTAMP, Type.BOOLEAN}),
    Type.INTEGER: frozenset({Type.TEXT, Type.INTEGER, Type.DOUBLE, Type.BOOLEAN}),
    Type.DOUBLE: frozenset({Type.INTEGER, Type.DOUBLE}),
    Type.BOOLEAN: frozenset({Type.TEXT, Type.INTEGER, Type.BOOLEAN}),
    Type.DATE: frozenset({Type.TEXT, Type.DATE, Type.TIMESTAMP}),
    Type.TIMESTAMP: frozenset({Type.TEXT, Type.DATE, Type.TIMESTAMP}),
    Type.NULL: frozenset(Type),
}
