"""What of a policy is not in its source?"""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.engine.catalog import Catalog
from dpsql.policy.breach import Breach, Path, did_you_mean
from dpsql.policy.model import ColumnPolicy, Policy, TablePolicy


def misfits(policy: Policy, catalog: Catalog) -> tuple[Breach, ...]:
    """Every table, column, type and uniqueness that the policy promises and the source does not hold.

    Names of tables and columns of the source are told, never a value: a CSV file in which no column is found
    may have no header, and then its first line, which would be read as names, is a row.
    """
    return tuple(breach for table in policy.tables.values() for breach in _table(table, catalog))


def _table(table: TablePolicy, catalog: Catalog) -> Iterator[Breach]:
    at: Path = ("tables", table.name)
    if not catalog.has(table.name):
        yield Breach(at, f"the source has no table `{table.name}`", _other_table(table.name, catalog))
        return
    if not table.public and catalog.is_view(table.name):
        message = f"`{table.name}` is a view, and what a view computes over several people is not looked into"
        yield Breach(at, message, "make it a table: CREATE TABLE ... AS SELECT ... FROM the view")
        return
    missing = [name for name in table.columns if catalog.column(table.name, name) is None]
    if catalog.is_text(table.name) and len(missing) == len(table.columns):
        message = f"no column of `{table.name}` is in the first line of its CSV file"
        yield Breach(
            at, message, "the first line must be the header: the names of the columns, parted by commas"
        )
        return
    for column in table.columns.values():
        yield from _column(table, column, catalog)


def _other_table(name: str, catalog: Catalog) -> str:
    close = did_you_mean(name, catalog.tables)
    found = ", ".join(f"`{table}`" for table in catalog.tables) or "none"
    return catalog.instead(name) or f"{close or 'check the name'} (tables of the source: {found})"


def _column(table: TablePolicy, column: ColumnPolicy, catalog: Catalog) -> Iterator[Breach]:
    at: Path = ("tables", table.name, "columns", column.name)
    found = catalog.column(table.name, column.name)
    if found is None:
        names = catalog.columns(table.name)
        close = did_you_mean(column.name, names)
        hint = close or f"its columns: {', '.join(f'`{name}`' for name in names)}"
        yield Breach(at, f"table `{table.name}` of the source has no column `{column.name}`", hint)
    elif catalog.expression(table, column) is None:
        message = f"`{table.name}.{column.name}` is {found.kind} in the source, not {column.type}"
        yield Breach((*at, "type"), message)
    elif table.public and column.unique and (repeated := catalog.repeated(table, column)):
        rows = "a row repeats" if repeated == 1 else f"{repeated} rows repeat"
        yield Breach((*at, "unique"), f"`{table.name}.{column.name}` is not unique: {rows} a value")
