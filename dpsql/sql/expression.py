"""The expressions a query is made of, typed and frozen.

An expression means the same on every row: each node is total, so that no row can make a query fail.
Positions point into the analyst's text and take no part in equality.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from typing import TypeAlias, assert_never

from dpsql.errors import Position

Value: TypeAlias = bool | int | Decimal | float | str | datetime.date | datetime.datetime | None


class Type(Enum):
    """The types of expressions; NULL is the type of a bare NULL and fits everywhere."""

    BOOLEAN = "boolean"
    INTEGER = "integer"
    DOUBLE = "double"
    TEXT = "text"
    DATE = "date"
    TIMESTAMP = "timestamp"
    NULL = "null"

    @property
    def numeric(self) -> bool:
        """Whether arithmetic is defined on the type."""
        return self in (Type.INTEGER, Type.DOUBLE)


class AggregateKind(Enum):
    """The aggregates that are decomposed into noisy sums."""

    COUNT_ROWS = "COUNT(*)"
    COUNT = "COUNT"
    COUNT_DISTINCT = "COUNT(DISTINCT)"
    SUM = "SUM"
    AVG = "AVG"


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; numbers keep their exact decimal value."""

    value: Value
    type: Type


@dataclass(frozen=True, slots=True)
class Column:
    """A column of one source of the query, or of a released relation."""

    source: str
    name: str
    type: Type
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator of the allow-list, by its name there."""

    function: str
    arguments: tuple[Expression, ...]
    type: Type
    position: Position | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Case:
    """The first branch whose condition holds, else the default."""

    branches: tuple[tuple[Expression, Expression], ...]
    default: Expression
    type: Type


@dataclass(frozen=True, slots=True)
class Cast:
    """A conversion that gives NULL where it cannot be done; ``target`` is an SQL type name."""

    operand: Expression
    target: str
    type: Type


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over rows; ``where`` is its FILTER clause, ``text`` the analyst's spelling."""

    kind: AggregateKind
    argument: Expression | None
    where: Expression | None
    type: Type
    text: str = field(compare=False)
    position: Position | None = field(default=None, compare=False, repr=False)


Expression: TypeAlias = Literal | Column | Call | Case | Cast | Aggregate


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct parts of an expression, left to right."""
    match expression:
        case Literal() | Column():
            return ()
        case Call(arguments=arguments):
            return arguments
        case Case(branches=branches, default=default):
            return (*(part for branch in branches for part in branch), default)
        case Cast(operand=operand):
            return (operand,)
        case Aggregate(argument=argument, where=where):
            return tuple(part for part in (argument, where) if part is not None)
        case _ as unreachable:
            assert_never(unreachable)


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all its parts, parents first."""
    yield expression
    for part in children(expression):
        yield from walk(part)


def columns(expression: Expression) -> Iterator[Column]:
    """Every mention of a column, also inside aggregates."""
    return (part for part in walk(expression) if isinstance(part, Column))


def aggregates(expression: Expression) -> Iterator[Aggregate]:
    """Every aggregate, left to right."""
    return (part for part in walk(expression) if isinstance(part, Aggregate))


def rewrite(expression: Expression, change: Callable[[Expression], Expression | None]) -> Expression:
    """Replace parts from the root down: where ``change`` answers, its answer stands and is not entered."""
    changed = change(expression)
    if changed is not None:
        return changed
    match expression:
        case Literal() | Column():
            return expression
        case Call(arguments=arguments):
            return replace(expression, arguments=tuple(rewrite(a, change) for a in arguments))
        case Case(branches=branches, default=default):
            return replace(
                expression,
                branches=tuple((rewrite(c, change), rewrite(v, change)) for c, v in branches),
                default=rewrite(default, change),
            )
        case Cast(operand=operand):
            return replace(expression, operand=rewrite(operand, change))
        case Aggregate():
            return expression
        case _ as unreachable:
            assert_never(unreachable)


def conjuncts(expression: Expression | None) -> Iterator[Expression]:
    """The conditions that must all hold."""
    if expression is None:
        return
    if isinstance(expression, Call) and expression.function == "and":
        for argument in expression.arguments:
            yield from conjuncts(argument)
        return
    yield expression


def conjunction(conditions: tuple[Expression, ...]) -> Expression | None:
    """One condition that holds when all do; None for no condition."""
    if not conditions:
        return None
    if len(conditions) == 1:
        return conditions[0]
    return Call("and", conditions, Type.BOOLEAN)
