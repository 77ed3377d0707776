"""Does every private table say what one unit can put into it and what it may lose?"""

from __future__ import annotations

from collections.abc import Iterator

from dpsql.policy.breach import Breach, Path, did_you_mean
from dpsql.policy.table import TablePolicy


def table_breaches(table: TablePolicy) -> Iterator[Breach]:
    """Everything wrong with one table, its columns and its unit apart."""
    at: Path = ("tables", table.name)
    yield from _unsupported(table, at)
    if table.public:
        yield from _public(table, at)
        return
    yield from _private(table, at)
    for name in table.max_groups:
        if name not in table.columns:
            message = f"table `{table.name}` has no column `{name}`"
            hint = did_you_mean(name, table.columns)
            yield Breach(
                (*at, "max_groups", name), message, hint, about=((*at, "columns", name),), at_key=True
            )


def _unsupported(table: TablePolicy, at: Path) -> Iterator[Breach]:
    """Keys of the format that no part of dpsql acts on: to ignore them would break the owner's word."""
    for key in ("partition_by", "max_rows_per_group"):
        if getattr(table, key) is not None:
            yield Breach((*at, key), f"`{key}` is not supported yet", "delete this line", at_key=True)


def _public(table: TablePolicy, at: Path) -> Iterator[Breach]:
    written = {
        "unit": table.unit is not None,
        "budget": table.budget is not None,
        "max_rows": table.max_rows is not None,
        "max_groups": bool(table.max_groups),
        "min_group_units": table.min_group_units != 1,
    }
    for key in (key for key, is_written in written.items() if is_written):
        message = f"`{table.name}` is public, and a public table has no `{key}`"
        yield Breach((*at, key), message, about=((*at, "public"),), at_key=True)


def _private(table: TablePolicy, at: Path) -> Iterator[Breach]:
    if table.budget is None:
        message = f"the private table `{table.name}` needs `budget`: what it may lose in all"
        hint = "write `budget: {epsilon: ..., delta: ...}`, or `public: true` if it holds no personal data"
        yield Breach(at, message, hint, about=((*at, "budget"), (*at, "public")))
    if table.max_rows is None:
        message = f"the private table `{table.name}` needs `max_rows`: the rows one unit may contribute"
        yield Breach(at, message, about=((*at, "max_rows"), (*at, "public")))
