"""What does the query read, and how do its sources hang together?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from dpsql import errors
from dpsql.errors import ProgrammingError, UnsupportedQuery
from dpsql.policy.model import Policy
from dpsql.sql.expression import Call, Column, Expression, Value
from dpsql.sql.parse import position_of
from dpsql.sql.relation import Join, JoinKind, Scan
from dpsql.sql.scope import Scope, Source
from dpsql.sql.translate import Translator

_JOINS: Final = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("LEFT", "OUTER"): JoinKind.LEFT,
}


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a query, the scope they make, and conditions of joins that belong to WHERE."""

    base: Scan | None
    joins: tuple[Join, ...]
    scope: Scope
    moved: tuple[Expression, ...]


class FromClause:
    """Reads FROM and its joins."""

    def __init__(self, tree: exp.Select, policy: Policy, parameters: Mapping[int, Value]) -> None:
        self._tree = tree
        self._policy = policy
        self._parameters = parameters

    def sources(self) -> Sources:
        """The sources, in the order of the text.

        Raises:
            ProgrammingError: unknown or ambiguous names.
            UnsupportedQuery: a join that is not on the list.
        """
        clause = self._tree.args.get("from_")
        if clause is None:
            return Sources(None, (), Scope(), ())
        base = self._source(clause.this)
        gathered = Sources(base.scan, (), Scope((base,)), ())
        for node in self._tree.args.get("joins") or ():
            gathered = self._join(gathered, node)
        return gathered

    def _source(self, node: exp.Expr) -> Source:
        name = node.name
        table = self._policy.table(name)
        if table is None:
            raise ProgrammingError(
                errors.UNKNOWN_TABLE, "The query names an unknown table.", position=position_of(node)
            )
        alias = (node.alias or name).lower()
        return Source(Scan(table.name, alias, table.public), table)

    def _join(self, left: Sources, node: exp.Expr) -> Sources:
        kind = _JOINS.get((node.text("side").upper(), node.text("kind").upper()))
        position = position_of(node)
        if kind is None:
            raise UnsupportedQuery(
                errors.UNSUPPORTED, "Only JOIN and LEFT JOIN are supported.", position=position
            )
        right = self._source(node.this)
        scope = left.scope.with_source(right)
        equalities, rest = self._attachment(node, left.scope, right, scope)
        if not equalities:
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "A join needs an equality between columns of both sides.",
                hint="Write JOIN ... ON a.key = b.key.",
                position=position,
            )
        if kind is JoinKind.LEFT and (rest or not right.scan.public):
            raise UnsupportedQuery(
                errors.UNSUPPORTED,
                "LEFT JOIN takes a public table on its right, and equalities only.",
                hint="Rows that a table of people lacks would tell of people: use JOIN.",
                position=position,
            )
        merged = frozenset(name.name.lower() for name in node.args.get("using") or ())
        scope = left.scope.with_source(replace(right, merged=merged))
        join = Join(right.scan, kind, equalities)
        # The condition of an inner join is one of the whole query.
        return Sources(left.base, (*left.joins, join), scope, (*left.moved, *rest))

    def _attachment(
        self, node: exp.Expr, left: Scope, right: Source, both: Scope
    ) -> tuple[tuple[tuple[Column, Column], ...], tuple[Expression, ...]]:
        using = node.args.get("using") or ()
        if using:
            return tuple(self._using(name, left, right) for name in using), ()
        on = node.args.get("on")
        if on is None:
            return (), ()
        translator = Translator(both, self._parameters)
        equalities, rest = [], []
        for part in _parts(on):
            condition = translator.condition(part, "ON")
            pair = _equality(condition, right.scan.alias)
            if pair is None:
                rest.append(condition)
            else:
                equalities.append(pair)
        return tuple(equalities), tuple(rest)

    def _using(self, name: exp.Expr, left: Scope, right: Source) -> tuple[Column, Column]:
        position = position_of(name)
        mine = left.column(name.name, None, position)
        theirs = Scope((right,)).column(name.name, None, position)
        if mine.type is not theirs.type:
            raise ProgrammingError(
                errors.TYPE_MISMATCH, "The columns of USING have different types.", position=position
            )
        return mine, theirs


def _parts(condition: exp.Expr) -> list[exp.Expr]:
    if isinstance(condition, exp.Paren):
        return _parts(condition.this)
    if isinstance(condition, exp.And):
        return [*_parts(condition.this), *_parts(condition.expression)]
    return [condition]


def _equality(condition: Expression, alias: str) -> tuple[Column, Column] | None:
    """(earlier side, column of the new source) when the condition is such an equality."""
    if not isinstance(condition, Call) or condition.function != "eq":
        return None
    first, second = condition.arguments
    for mine, theirs in ((first, second), (second, first)):
        if (
            isinstance(theirs, Column)
            and theirs.source == alias
            and isinstance(mine, Column)
            and mine.source != alias
        ):
            # A whole number beside a double is compared as one, and then two of them can be equal to it.
            return (mine, theirs) if mine.type is theirs.type else None
    return None
