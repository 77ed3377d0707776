"""Which parts of SQL are answered: an allow-list of syntax nodes and of what each may carry.

Whatever is not listed is refused, so that a construct the parser learns later is refused until it has
been proven. Functions are listed in `dpsql.sql.functions`.
"""

from __future__ import annotations

from typing import Final

from sqlglot import exp

from dpsql import errors
from dpsql.errors import ProgrammingError, UnsupportedQuery
from dpsql.sql.parse import position_of

_BINARY: Final = frozenset({"this", "expression"})
_UNARY: Final = frozenset({"this"})
_LIST: Final = frozenset({"this", "expressions"})

CLAUSES: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Select: frozenset(
        {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset"}
    ),
    exp.From: _UNARY,
    exp.Table: frozenset({"this", "alias"}),
    exp.TableAlias: _UNARY,
    exp.Join: frozenset({"this", "on", "using", "side", "kind"}),
    exp.Where: _UNARY,
    exp.Having: _UNARY,
    exp.Group: frozenset({"expressions", "all"}),
    exp.Order: frozenset({"expressions"}),
    exp.Ordered: frozenset({"this", "desc", "nulls_first"}),
    exp.Limit: frozenset({"expression"}),
    exp.Offset: frozenset({"expression"}),
    exp.Alias: frozenset({"this", "alias"}),
    exp.Column: frozenset({"this", "table"}),
    exp.Identifier: frozenset({"this", "quoted"}),
    exp.Star: frozenset(),
    exp.Filter: _BINARY,
}

VALUES: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Literal: frozenset({"this", "is_string"}),
    exp.RawString: _UNARY,
    exp.Boolean: _UNARY,
    exp.Null: frozenset(),
    exp.Placeholder: _UNARY,
    exp.DataType: frozenset({"this"}),
    exp.Var: _UNARY,
    exp.Paren: _UNARY,
}

OPERATORS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Add: _BINARY,
    exp.Sub: _BINARY,
    exp.Mul: _BINARY,
    exp.Div: _BINARY | {"typed", "safe"},
    exp.IntDiv: _BINARY,
    exp.Mod: _BINARY,
    exp.Neg: _UNARY,
    exp.EQ: _BINARY,
    exp.NEQ: _BINARY,
    exp.LT: _BINARY,
    exp.LTE: _BINARY,
    exp.GT: _BINARY,
    exp.GTE: _BINARY,
    exp.NullSafeEQ: _BINARY,
    exp.NullSafeNEQ: _BINARY,
    exp.Is: _BINARY,
    exp.Between: frozenset({"this", "low", "high"}),
    exp.In: _LIST,
    exp.And: _BINARY,
    exp.Or: _BINARY,
    exp.Not: _UNARY,
    exp.Case: frozenset({"this", "ifs", "default"}),
    exp.If: frozenset({"this", "true", "false"}),
    exp.Cast: frozenset({"this", "to"}),
    exp.TryCast: frozenset({"this", "to", "safe"}),
    exp.Like: _BINARY | {"negate"},
    exp.ILike: _BINARY | {"negate"},
    exp.DPipe: _BINARY | {"safe"},
}

CALLS: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Abs: _UNARY,
    exp.Sqrt: _UNARY,
    exp.Ln: _UNARY,
    exp.Exp: _UNARY,
    exp.Floor: _UNARY,
    exp.Ceil: _UNARY,
    exp.Round: frozenset({"this", "decimals"}),
    exp.Coalesce: _LIST,
    exp.Nullif: _BINARY,
    exp.Least: _LIST | {"ignore_nulls"},
    exp.Greatest: _LIST | {"ignore_nulls"},
    exp.Lower: _UNARY,
    exp.Upper: _UNARY,
    exp.Trim: _UNARY,
    exp.Length: _UNARY,
    exp.StartsWith: _BINARY,
    exp.Contains: _BINARY,
    exp.Substring: frozenset({"this", "start", "length"}),
    exp.Left: _BINARY,
    exp.Right: _BINARY,
    exp.Year: _UNARY,
    exp.Quarter: _UNARY,
    exp.Month: _UNARY,
    exp.Week: _UNARY,
    exp.WeekOfYear: _UNARY,
    exp.Day: _UNARY,
    exp.DayOfWeek: _UNARY,
    exp.DayOfWeekIso: _UNARY,
    exp.DayOfYear: _UNARY,
    exp.DayOfMonth: _UNARY,
    exp.Extract: _BINARY,
    exp.TimestampTrunc: frozenset({"this", "unit"}),
    exp.DateTrunc: frozenset({"this", "unit"}),
}

AGGREGATES: Final[dict[type[exp.Expr], frozenset[str]]] = {
    exp.Count: frozenset({"this", "big_int"}),
    exp.CountIf: _UNARY,
    exp.Sum: _UNARY,
    exp.Avg: _UNARY,
    exp.Distinct: frozenset({"expressions"}),
}

SUPPORTED: Final = CLAUSES | VALUES | OPERATORS | CALLS | AGGREGATES

_WORDS: Final[dict[type[exp.Expr], str]] = {
    exp.Subquery: "A sub-query",
    exp.Exists: "EXISTS",
    exp.With: "WITH",
    exp.Window: "A window function",
    exp.TableSample: "Sampling",
    exp.Lambda: "A lambda",
    exp.Interval: "INTERVAL",
    exp.Unnest: "UNNEST",
    exp.Lateral: "LATERAL",
    exp.Pivot: "PIVOT",
}


_PARTS: Final[dict[tuple[type[exp.Expr], str], str]] = {
    (exp.Table, "db"): "A table name with a schema",
    (exp.Table, "catalog"): "A table name with a database",
    (exp.In, "field"): "IN with anything but a list of constants",
    (exp.In, "query"): "IN with a sub-query",
    (exp.In, "unnest"): "IN with anything but a list of constants",
    (exp.Select, "distinct"): "SELECT DISTINCT",
    (exp.Select, "qualify"): "QUALIFY",
    (exp.Select, "sample"): "Sampling",
}


def check(tree: exp.Select) -> None:
    """Refuse what is not on the list.

    Raises:
        UnsupportedQuery: with the construct's name and place.
        ProgrammingError: DP100 when a part of a construct is missing.
    """
    for node in tree.walk():
        allowed = SUPPORTED.get(type(node))
        if allowed is None:
            raise _refusal(node)
        if node.error_messages():
            raise ProgrammingError(
                errors.SYNTAX,
                f"A part of {_spaced(type(node).__name__)} is missing.",
                position=position_of(node),
            )
        for name, value in node.args.items():
            if name not in allowed and value not in (None, False, []):
                raise _refused_part(node, name, value)


def _refusal(node: exp.Expr) -> UnsupportedQuery:
    position = position_of(node)
    if isinstance(node, (exp.Subquery, exp.Exists, exp.With, exp.Select)):
        return UnsupportedQuery(
            errors.SUBQUERY,
            f"{_WORDS.get(type(node), 'A sub-query')} is not supported.",
            hint="Ask the inner query first and put its released answer into this one.",
            position=position,
        )
    if isinstance(node, exp.AggFunc):
        return UnsupportedQuery(
            errors.UNSAFE_FUNCTION,
            f"The aggregate {_function_name(node)} is not supported.",
            hint="COUNT, SUM and AVG are; docs/sql.md says what is not supported yet.",
            position=position,
        )
    if isinstance(node, exp.Func) and type(node) not in _WORDS:
        return UnsupportedQuery(
            errors.UNSAFE_FUNCTION,
            f"The function {_function_name(node)} is not on the list of allowed functions.",
            hint="docs/sql.md lists the functions with a total meaning.",
            position=position,
        )
    word = _WORDS.get(type(node), f"The construct {_spaced(type(node).__name__)}")
    return UnsupportedQuery(errors.UNSUPPORTED, f"{word} is not supported.", position=position)


def _refused_part(node: exp.Expr, name: str, value: object) -> UnsupportedQuery:
    if isinstance(value, exp.Expr) and type(value) not in SUPPORTED:
        return _refusal(value)
    if (
        isinstance(value, list)
        and value
        and isinstance(value[0], exp.Expr)
        and type(value[0]) not in SUPPORTED
    ):
        return _refusal(value[0])
    described = _PARTS.get((type(node), name))
    if described is not None:
        return UnsupportedQuery(
            errors.UNSUPPORTED, f"{described} is not supported.", position=position_of(node)
        )
    part = name.rstrip("_").replace("_", " ").upper()
    return UnsupportedQuery(
        errors.UNSUPPORTED,
        f"{part} in {_spaced(type(node).__name__)} is not supported.",
        position=position_of(node),
    )


def _function_name(node: exp.Func) -> str:
    if isinstance(node, exp.Anonymous):
        return node.name.upper()
    return str(node.sql_name())


def _spaced(name: str) -> str:
    return "".join(
        f" {char}" if char.isupper() and i and not name[i - 1].isupper() else char
        for i, char in enumerate(name)
    ).upper()
