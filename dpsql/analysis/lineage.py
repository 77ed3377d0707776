"""Whose row is this? From a private table to the privacy unit that owns each of its rows."""

from __future__ import annotations

from dataclasses import dataclass

from dpsql.analysis.facts import Facts
from dpsql.policy.model import Policy
from dpsql.sql.relation import Scan


@dataclass(frozen=True, slots=True)
class Reference:
    """One step from a table to its parent: ``column`` refers to ``parent_column`` of ``parent``.

    ``unique`` tells that the database enforces one parent row per key; otherwise the owner of a key is
    the least unit among its parent rows.
    """

    table: str
    column: str
    parent: str
    parent_column: str
    unique: bool


@dataclass(frozen=True, slots=True)
class Ownership:
    """Who owns the rows of one private scan.

    ``unit`` is the unit's column in the last table of ``path`` (in the table itself when the path is empty).
    ``single`` holds only where the database enforces that no unit has two rows. ``constants`` are the
    columns declared constant that have to be made so at the scan.
    """

    scan: Scan
    unit: str
    path: tuple[Reference, ...]
    single: bool
    constants: frozenset[str]

    @property
    def tables(self) -> tuple[str, ...]:
        """Every private table that is read to find the rows and their owners."""
        return (self.scan.table, *(step.parent for step in self.path))

    @property
    def unit_column(self) -> str | None:
        """The scan's own column that holds the unit, or None when a path leads to it."""
        return None if self.path else self.unit


def ownership(scan: Scan, policy: Policy, facts: Facts) -> Ownership:
    """The owner rule of one private scan, from the policy and the enforced constraints."""
    table = policy.tables[scan.table]
    path = tuple(
        Reference(
            step.table,
            step.column,
            step.parent,
            step.parent_column,
            facts.unique(step.parent, step.parent_column),
        )
        for step in policy.unit_path(table)
    )
    last = policy.tables[path[-1].parent] if path else table
    unit = policy.unit_of(last)
    if not isinstance(unit, str):
        raise TypeError("a unit path ends in a table with a unit column")
    single = not path and facts.unique(table.name, unit)
    declared = frozenset(column.name for column in table.columns.values() if column.constant)
    return Ownership(scan, unit, path, single, frozenset() if single else declared)
