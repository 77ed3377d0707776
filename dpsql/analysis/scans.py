"""How many rows can one unit have in the joined rows of a query, and what is fixed per unit?"""

from __future__ import annotations

from dataclasses import dataclass

from dpsql import errors
from dpsql.analysis.facts import Facts
from dpsql.analysis.lineage import Ownership
from dpsql.errors import UnsupportedQuery
from dpsql.policy.model import Policy
from dpsql.sql.expression import Column, Expression, columns
from dpsql.sql.relation import Query

MAX_ROWS: int = 2**31
"""Largest row bound of one unit: weights are computed in 64-bit integers."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The joined rows of a query.

    ``bound`` is the row bound of one unit: `max_rows` times the fan-out of each public join.
    ``fixed`` are the sources all of whose columns have one value per unit; ``constants`` the single
    columns that have. ``fanout`` tells whether a join can repeat a row.
    """

    bound: int
    fanout: int
    fixed: frozenset[str]
    constants: frozenset[tuple[str, str]]

    def constant(self, expression: Expression) -> bool:
        """Whether the expression has one value per unit."""
        return all(self._constant(column) for column in columns(expression))

    def _constant(self, column: Column) -> bool:
        return column.source in self.fixed or (column.source, column.name) in self.constants


def joined_rows(query: Query, owner: Ownership, policy: Policy, facts: Facts) -> Rows:
    """The row bound of a private scan joined to public tables.

    Raises:
        UnsupportedQuery: when a source hangs on nothing (a cross product), or the bound is too large.
    """
    table = policy.tables[owner.scan.table]
    declared = frozenset((owner.scan.alias, c.name) for c in table.columns.values() if c.constant)
    if owner.unit_column is not None:
        declared |= {(owner.scan.alias, owner.unit_column)}
    fixed = frozenset({owner.scan.alias}) if owner.single else frozenset()
    rows = Rows(table.max_rows or 1, 1, fixed, declared)
    attached = {owner.scan.alias}
    waiting = [scan for scan in query.scans if scan.alias != owner.scan.alias]
    while waiting:
        scan = next((s for s in waiting if _keys(query, s.alias, attached)), None)
        if scan is None:
            raise UnsupportedQuery(
                errors.UNSUPPORTED, "A source of the query is joined to no other by an equality."
            )
        rows = _attach(rows, scan.alias, scan.table, _keys(query, scan.alias, attached), facts)
        attached.add(scan.alias)
        waiting.remove(scan)
    if rows.bound > MAX_ROWS:
        raise UnsupportedQuery(errors.UNBOUNDED, "The joins repeat each row too often.")
    return rows


def _keys(query: Query, alias: str, attached: set[str]) -> tuple[tuple[Column, Column], ...]:
    """(column of an attached source, own column) for each equality that attaches the source."""
    pairs = [pair for join in query.joins for pair in join.equalities]
    both = [*pairs, *((mine, theirs) for theirs, mine in pairs)]
    return tuple(
        (theirs, mine) for theirs, mine in both if mine.source == alias and theirs.source in attached
    )


def _attach(
    rows: Rows, alias: str, table: str, keys: tuple[tuple[Column, Column], ...], facts: Facts
) -> Rows:
    repeats = facts.multiplicity(table, tuple(dict.fromkeys(mine.name for _, mine in keys)))
    fixed = rows.fixed
    if repeats == 1 and all(rows.constant(theirs) for theirs, _ in keys):
        fixed |= {alias}
    return Rows(rows.bound * repeats, rows.fanout * repeats, fixed, rows.constants)
