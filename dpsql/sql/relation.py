"""The shape of a query: what is read, how it is grouped, what is shown."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from dpsql.sql.expression import Column, Expression


class JoinKind(Enum):
    """How the rows of a further source are attached."""

    INNER = "JOIN"
    LEFT = "LEFT JOIN"


@dataclass(frozen=True, slots=True)
class Scan:
    """One source of a query: a table of the policy under the name the query gives it."""

    table: str
    alias: str
    public: bool


@dataclass(frozen=True, slots=True)
class Join:
    """A further source, attached by equalities (earlier column, own column)."""

    scan: Scan
    kind: JoinKind
    equalities: tuple[tuple[Column, Column], ...]


@dataclass(frozen=True, slots=True)
class Item:
    """One column of the answer."""

    name: str
    expression: Expression


@dataclass(frozen=True, slots=True)
class Ordering:
    """One term of ORDER BY, over keys and aggregates."""

    expression: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Query:
    """One SELECT.

    ``base`` is None for a query without FROM. ``keys`` are the group keys in order; ``grouped`` tells a
    query with aggregates or GROUP BY from a plain listing (which only public tables may have).
    """

    base: Scan | None
    joins: tuple[Join, ...]
    where: Expression | None
    keys: tuple[Expression, ...]
    items: tuple[Item, ...]
    having: Expression | None
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int | None
    grouped: bool

    @property
    def scans(self) -> tuple[Scan, ...]:
        """Every source, in the order of the text."""
        if self.base is None:
            return ()
        return (self.base, *(join.scan for join in self.joins))

    @property
    def private(self) -> tuple[Scan, ...]:
        """The sources that hold rows of people."""
        return tuple(scan for scan in self.scans if not scan.public)
