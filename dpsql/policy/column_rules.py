"""Do the bounds, steps and domains of a column make sense together?"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, TypeVar, assert_never

from dpsql.policy.breach import Breach, Path, did_you_mean
from dpsql.policy.declaration import Declaration
from dpsql.policy.domain import Range, Reference, Value, Values
from dpsql.policy.number import GRID_BITS, MAX_MAGNITUDE, MIN_MAGNITUDE, describe
from dpsql.policy.table import GROUPABLE, NUMERIC, ColumnPolicy, ColumnType, TablePolicy

_INT64: Final = 2**63
_End = TypeVar("_End", Decimal, datetime.date)


def column_breaches(policy: Declaration, table: TablePolicy, column: ColumnPolicy) -> Iterator[Breach]:
    """Everything wrong with one column of a table."""
    path: Path = ("tables", table.name, "columns", column.name)
    yield from _bounds(column, path)
    if column.step is not None:
        yield from _step(column, column.step, path)
    if column.max_sum is not None and column.type not in NUMERIC:
        message = f"`max_sum` limits numbers, and the column is of type {column.type}"
        yield Breach((*path, "max_sum"), message, about=((*path, "type"),))
    if column.domain is not None and column.type not in GROUPABLE:
        message = f"a column of type {column.type} cannot be a group key and has no domain"
        yield Breach((*path, "domain"), message, about=((*path, "type"),))
    else:
        yield from _domain(policy, column, path)
    if column.null_group and not isinstance(column.key_domain, Range | Reference):
        message = "`null_group` belongs to a range or a reference; a list of values holds `null` itself"
        yield Breach((*path, "null_group"), message, about=(path,))
    yield from _private_only(table, column, path)


def _bounds(column: ColumnPolicy, path: Path) -> Iterator[Breach]:
    message = _number_fault(column) or _date_fault(column)
    if message is not None:
        yield Breach((*path, "bounds"), message, about=((*path, "type"), (*path, "step"), (*path, "bounds")))


def _number_fault(column: ColumnPolicy) -> str | None:
    if column.number_bounds is None:
        return None
    if column.type not in NUMERIC:
        return f"numbers cannot bound a column of type {column.type}"
    low, high = column.number_bounds
    return _order_fault(low, high) or _size_fault(column, low, high)


def _date_fault(column: ColumnPolicy) -> str | None:
    if column.date_bounds is None:
        return None
    if column.type != "date":
        return f"dates cannot bound a column of type {column.type}"
    return _order_fault(*column.date_bounds)


def _order_fault(low: _End, high: _End) -> str | None:
    if low > high:
        return f"the lower bound {low} is above the upper bound {high}"
    if low == high:
        return f"both bounds are {low}: every value would be clipped to it, so a sum has sensitivity 0"
    return None


def _size_fault(column: ColumnPolicy, low: Decimal, high: Decimal) -> str | None:
    if column.type == "integer" and not (_is_whole(low) and _is_whole(high)):
        return "the bounds of an integer column must be whole numbers"
    largest = max(abs(low), abs(high))
    if largest > MAX_MAGNITUDE or high - low < MIN_MAGNITUDE:
        return f"bounds must stay below {MAX_MAGNITUDE} and at least {MIN_MAGNITUDE} apart"
    step = column.step or (Decimal(1) if column.type == "integer" else None)
    if step is not None and largest / step >= 2**GRID_BITS:
        return f"the largest bound is 2^{GRID_BITS} steps of {step} or more: sums would not be exact"
    return None


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _step(column: ColumnPolicy, step: Decimal, path: Path) -> Iterator[Breach]:
    message = _step_fault(column, step)
    if message is not None:
        yield Breach((*path, "step"), message, about=((*path, "type"), (*path, "bounds")))


def _step_fault(column: ColumnPolicy, step: Decimal) -> str | None:
    if column.type not in NUMERIC:
        return f"`step` is a grid for numbers, and the column is of type {column.type}"
    if column.type == "integer" and not _is_whole(step):
        return "the step of an integer column must be a whole number"
    if column.number_bounds is None:
        return None
    low, high = column.number_bounds
    is_wider = low < high < low + step
    return f"the step {step} is wider than the bounds [{low}, {high}]" if is_wider else None


def _domain(policy: Declaration, column: ColumnPolicy, path: Path) -> Iterator[Breach]:
    match column.domain:
        case None:
            return
        case Values(values):
            yield from _values(column, values, (*path, "domain"))
        case Range() as interval:
            yield from _range(column, interval, path)
        case Reference() as reference:
            yield from _reference(policy, column, reference, path)
        case _:
            assert_never(column.domain)


def _values(column: ColumnPolicy, values: tuple[Value, ...], path: Path) -> Iterator[Breach]:
    if not any(value is not None for value in values):
        yield Breach(path, "the domain lists no value")
    seen: set[tuple[type, Value]] = set()
    for index, value in enumerate(values):
        if value is not None and not _fits(column.type, value):
            message = f"{describe(value)} is not of the column's type {column.type}"
            hint = "put it in quotes" if column.type == "text" else None
            yield Breach((*path, index), message, hint, about=((*path[:-1], "type"),))
        elif (type(value), value) in seen:
            yield Breach((*path, index), f"{describe(value)} is listed twice")
        seen.add((type(value), value))


def _fits(kind: ColumnType, value: Value) -> bool:
    match value:
        case bool():
            return kind == "boolean"
        case int():
            return kind == "integer" and abs(value) < _INT64
        case str():
            return kind == "text"
        case datetime.date():
            return kind == "date"
        case _:
            return False


def _range(column: ColumnPolicy, interval: Range, path: Path) -> Iterator[Breach]:
    at, about = (*path, "domain"), ((*path, "type"),)
    if not (_fits(column.type, interval.from_) and _fits(column.type, interval.to)):
        ends = f"from {interval.from_} to {interval.to}"
        yield Breach(at, f"a range {ends} does not fit a column of type {column.type}", about=about)
    elif not _is_ordered(interval):
        yield Breach(at, f"the range ends at {interval.to}, before it begins at {interval.from_}")


def _is_ordered(interval: Range) -> bool:
    match interval:
        case Range(int() as low, int() as high):
            return low <= high
        case Range(datetime.date() as first, datetime.date() as last):
            return first <= last
        case _:
            return False


def _reference(
    policy: Declaration, column: ColumnPolicy, reference: Reference, path: Path
) -> Iterator[Breach]:
    at = (*path, "domain")
    table = policy.tables.get(reference.table)
    if table is None:
        hint = did_you_mean(reference.table, policy.tables)
        yield Breach(at, f"there is no table `{reference.table}`", hint, about=(("tables", reference.table),))
        return
    if not table.public:
        message = f"`{table.name}` is a private table, and its values cannot be a public domain"
        yield Breach(at, message, about=(("tables", table.name, "public"),))
        return
    target = table.columns.get(reference.column)
    columns = ("tables", table.name, "columns")
    if target is None:
        message = f"table `{table.name}` has no column `{reference.column}`"
        yield Breach(
            at, message, did_you_mean(reference.column, table.columns), about=((*columns, reference.column),)
        )
    elif target.type != column.type:
        message = f"`{reference}` is of type {target.type}, this column of type {column.type}"
        yield Breach(at, message, about=((*path, "type"), (*columns, target.name, "type")))


def _private_only(table: TablePolicy, column: ColumnPolicy, path: Path) -> Iterator[Breach]:
    if not table.public:
        return
    written = {
        "constant": column.constant,
        "max_sum": column.max_sum is not None,
        "max_distinct": column.max_distinct is not None,
    }
    for key in (key for key, is_written in written.items() if is_written):
        message = f"`{key}` is about units, and a public table has none"
        yield Breach((*path, key), message, about=(("tables", table.name, "public"),), at_key=True)
