"""Does every private row have one owner that can be found?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from dpsql.policy.breach import Breach, Path, did_you_mean
from dpsql.policy.declaration import Declaration
from dpsql.policy.table import ColumnPolicy, TablePolicy
from dpsql.policy.unit import UnitPath

UNIT_TYPES: Final = frozenset({"integer", "text"})
"""Types whose equal values are the same unit on every engine; doubles compare by bits that casts change."""


def unit_breaches(policy: Declaration) -> Iterator[Breach]:
    """Everything wrong with `privacy_unit` and the units of the private tables."""
    yield from _unit_table(policy)
    for table in policy.private_tables:
        yield from _table_unit(policy, table)
    yield from _one_type(policy)


def _unit_table(policy: Declaration) -> Iterator[Breach]:
    unit = policy.privacy_unit
    at: Path = ("privacy_unit",)
    if unit.table is None and unit.key is None:
        return
    if unit.table is None or unit.key is None:
        yield Breach(
            at, "`table` and `key` of the privacy unit go together: write both, or neither", about=(at,)
        )
        return
    table = policy.tables.get(unit.table)
    if table is None:
        hint = did_you_mean(unit.table, policy.tables)
        yield Breach(
            (*at, "table"), f"there is no table `{unit.table}`", hint, about=(("tables", unit.table),)
        )
    elif table.public:
        message = f"`{table.name}` is a public table, and the privacy unit needs a private one"
        yield Breach((*at, "table"), message, about=(("tables", table.name, "public"),))
    elif isinstance(table.unit, UnitPath) or (table.unit is not None and table.unit != unit.key):
        message = f"`{table.name}` is the table of the privacy unit: its unit is the key `{unit.key}`"
        yield Breach(("tables", table.name, "unit"), message, "delete this line", about=(at,))
    else:
        yield from _column(table, unit.key, (*at, "key"))


def _table_unit(policy: Declaration, table: TablePolicy) -> Iterator[Breach]:
    at: Path = ("tables", table.name, "unit")
    if policy.is_unit_table(table):
        return
    match table.unit:
        case None:
            yield from _missing(policy, table, at)
        case UnitPath() as path:
            yield from _path(policy, table, path, at)
        case column:
            yield from _column(table, column, at)


def _missing(policy: Declaration, table: TablePolicy, at: Path) -> Iterator[Breach]:
    named = policy.privacy_unit.table
    unit_table = None if named is None else policy.tables.get(named)
    if named is not None and (unit_table is None or unit_table.public):
        # `privacy_unit.table` is at fault itself, and may have meant this table.
        return
    message = f"the private table `{table.name}` needs `unit`: the column that says whose a row is"
    yield Breach(("tables", table.name), message, about=(at, (*at[:-1], "public"), ("privacy_unit",)))


def _column(table: TablePolicy, name: str, at: Path) -> Iterator[Breach]:
    columns: Path = ("tables", table.name, "columns")
    column = table.columns.get(name)
    if column is None:
        message = f"table `{table.name}` has no column `{name}`"
        yield Breach(at, message, did_you_mean(name, table.columns), about=((*columns, name),))
    elif column.type not in UNIT_TYPES:
        message = (
            f"`{table.name}.{name}` is of type {column.type}, and a unit is named by an integer or a text"
        )
        yield Breach(at, message, about=((*columns, column.name, "type"),))


def _path(policy: Declaration, table: TablePolicy, path: UnitPath, at: Path) -> Iterator[Breach]:
    parent = policy.tables.get(path.target.table)
    yield from _column(table, path.column, at)
    if parent is None:
        hint = did_you_mean(path.target.table, policy.tables)
        yield Breach(
            at, f"there is no table `{path.target.table}`", hint, about=(("tables", path.target.table),)
        )
        return
    if parent.public:
        message = f"`{parent.name}` is a public table, and its rows have no unit"
        yield Breach(at, message, about=(("tables", parent.name, "public"),))
        return
    yield from _column(parent, path.target.column, at)
    yield from _same_type(
        (table, table.columns.get(path.column)), (parent, parent.columns.get(path.target.column)), at
    )
    if _is_cyclic(policy, table):
        yield Breach(
            at, f"the path from `{table.name}` comes back to a table it has passed", about=(("tables",),)
        )


def _is_cyclic(policy: Declaration, table: TablePolicy) -> bool:
    seen: set[str] = set()
    current: TablePolicy | None = table
    while current is not None and current.name not in seen:
        seen.add(current.name)
        unit = policy.declared_unit(current)
        current = policy.tables.get(unit.target.table) if isinstance(unit, UnitPath) else None
    return current is not None


Found = tuple[TablePolicy, ColumnPolicy | None]


def _same_type(one: Found, other: Found, at: Path) -> Iterator[Breach]:
    (table, column), (parent, target) = one, other
    if column is None or target is None or column.type == target.type:
        return
    message = (
        f"`{table.name}.{column.name}` is of type {column.type} and `{parent.name}.{target.name}` of type"
        f" {target.type}: one unit would have two spellings"
    )
    yield Breach(at, message, about=(_type_of(table, column), _type_of(parent, target)))


def _type_of(table: TablePolicy, column: ColumnPolicy) -> Path:
    return ("tables", table.name, "columns", column.name, "type")


def _one_type(policy: Declaration) -> Iterator[Breach]:
    """Unit columns of different types would name one unit in two ways, and it would be counted as two."""
    named = [
        (table, table.columns.get(unit))
        for table in policy.private_tables
        if isinstance(unit := policy.declared_unit(table), str)
    ]
    named.sort(key=lambda found: not policy.is_unit_table(found[0]))
    for found in named[1:]:
        yield from _same_type(found, named[0], ("tables", found[0].name, "unit"))
