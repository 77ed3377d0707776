"""Which promises of a policy about its units does the data not keep? For the owner's eyes only.

The counts are exact and private: an interface for analysts must not show them. No answer depends on
them, since what is promised here is enforced in every query.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from dpsql.engine.render import quote
from dpsql.policy.model import Policy, TablePolicy

Count = Callable[[str], int]
"""Runs a SELECT of one number over the tables of the policy."""


@dataclass(frozen=True, slots=True)
class Exceeded:
    """A promise that some units do not keep: `key` of the policy file, and how many units."""

    key: str
    units: int
    message: str

    def __str__(self) -> str:
        number = "1 unit" if self.units == 1 else f"{self.units:,} units"
        return f"{self.key}: {number} {self.message}"


def exceeded(policy: Policy, count: Count) -> Iterator[Exceeded]:
    """Private tables with units above `max_rows`, and constant columns with units of several values."""
    for table in policy.private_tables:
        owned = _owned(policy, table)
        units = count(_above(owned, f"COUNT(*) > {table.max_rows}"))
        if units:
            message = "with more rows: each of these rows counts less"
            yield Exceeded(f"tables.{table.name}.max_rows", units, message)
        for column in table.columns.values():
            if not column.constant:
                continue
            units = count(_above(owned, f"COUNT(DISTINCT t.{quote(column.name)}) > 1"))
            if units:
                message = "with several values: the least of each is taken"
                yield Exceeded(f"tables.{table.name}.columns.{column.name}.constant", units, message)


def _above(owned: tuple[str, str], condition: str) -> str:
    unit, source = owned
    units = f"SELECT 1 FROM {source} WHERE {unit} IS NOT NULL GROUP BY {unit} HAVING {condition}"
    return f"SELECT COUNT(*) FROM ({units})"


def _owned(policy: Policy, table: TablePolicy) -> tuple[str, str]:
    """The unit of a row and the FROM clause that finds it; a row of several owners has the least of them."""
    steps = policy.unit_path(table)
    if not steps:
        return f"t.{quote(str(policy.unit_of(table)))}", f"{quote(table.name)} t"
    parent = quote(steps[-1].parent)
    unit = f"p.{quote(str(policy.unit_of(steps[-1].parent)))}"
    source = f"{parent} p"
    for step, child in zip(reversed(steps), [*reversed(steps[:-1]), None], strict=True):
        owners = f"SELECT p.{quote(step.parent_column)} AS key, MIN({unit}) AS unit FROM {source} GROUP BY 1"
        name = "t" if child is None else "p"
        below = quote(table.name if child is None else child.parent)
        source = f"{below} {name} JOIN ({owners}) o ON o.key = {name}.{quote(step.column)}"
        unit = "o.unit"
    return unit, source
