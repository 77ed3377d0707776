"""Which groups are there, who may know of them, and how many can one unit touch?"""

from __future__ import annotations

import datetime
import math
from dataclasses import dataclass
from typing import Final

from dpsql import errors
from dpsql.analysis.facts import Facts
from dpsql.analysis.scans import Rows
from dpsql.errors import PolicyRefused, UnsupportedQuery
from dpsql.policy.domain import Range, Reference, Values
from dpsql.policy.model import ColumnPolicy, Policy
from dpsql.sql.expression import Call, Case, Column, Expression, Literal, Type, Value, columns, conjuncts
from dpsql.sql.relation import Query

MAX_VALUES: Final = 200_000
MAX_CELLS: Final = 1_000_000

_FIXED_PARTS: Final = {
    "quarter": range(1, 5),
    "month": range(1, 13),
    "week": range(1, 54),
    "day": range(1, 32),
    "dayofweek": range(7),
    "isodow": range(1, 8),
    "dayofyear": range(1, 367),
}


@dataclass(frozen=True, slots=True)
class Key:
    """One group key: public with all its values known beforehand, or private (``domain`` is None)."""

    name: str
    expression: Expression
    domain: tuple[Value, ...] | None


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The groups of a query.

    ``cells`` is the number of groups of a public partitioning, None for a private one.
    ``constant`` holds when every key has one value per unit: the groups are disjoint sets of units.
    ``touched`` bounds the groups one unit can touch once groups are capped (L0).
    """

    keys: tuple[Key, ...]
    cells: int | None
    constant: bool
    touched: int

    @property
    def public(self) -> bool:
        """Whether all groups are known without reading a row."""
        return self.cells is not None


def partition(query: Query, rows: Rows, unit: Column | None, policy: Policy, facts: Facts) -> Partitioning:
    """The groups of a query over one private scan.

    Raises:
        UnsupportedQuery: DP204 for the unit as a key, DP207 for keys that cannot be grouped by.
    """
    keys = tuple(
        _key(f"k{number}", expression, query, unit, policy, facts)
        for number, expression in enumerate(query.keys, start=1)
    )
    cells = _cells(keys)
    constant = all(rows.constant(key.expression) for key in keys)
    touched = 1 if constant else _touched(keys, rows, query, policy)
    return Partitioning(keys, cells, constant, touched if cells is None else min(touched, max(1, cells)))


def _cells(keys: tuple[Key, ...]) -> int | None:
    cells = 1
    for key in keys:
        if key.domain is None:
            return None
        cells *= len(key.domain)
    if cells > MAX_CELLS:
        raise UnsupportedQuery(
            errors.UNSUITABLE_KEY,
            f"The keys have {cells} combinations; at most {MAX_CELLS} are shown.",
            hint="Group by fewer or by coarser keys, as in a // 10.",
        )
    return cells


def _touched(keys: tuple[Key, ...], rows: Rows, query: Query, policy: Policy) -> int:
    """`max_groups` where every key is a function of declared and constant columns, else the row bound."""
    private = query.private[0]
    declared = {name.lower(): bound for name, bound in policy.tables[private.table].max_groups.items()}
    loose = {
        (column.source, column.name.lower())
        for key in keys
        for column in columns(key.expression)
        if not rows.constant(column)
    }
    if any(source != private.alias or name not in declared for source, name in loose):
        return rows.bound
    return min(rows.bound, math.prod(declared[name] for _, name in loose))


def _key(
    name: str, expression: Expression, query: Query, unit: Column | None, policy: Policy, facts: Facts
) -> Key:
    position = next((column.position for column in columns(expression)), None)
    if unit is not None and unit in set(columns(expression)):
        raise UnsupportedQuery(
            errors.UNIT_KEY,
            "Groups by the privacy unit would be single people.",
            hint="Group by a property that many people share.",
            position=position,
        )
    if expression.type in (Type.DOUBLE, Type.TIMESTAMP, Type.NULL):
        raise UnsupportedQuery(
            errors.UNSUITABLE_KEY,
            f"A group key is a whole number, a text, a date or a condition, not a {expression.type.value}.",
            hint="Group by CASE WHEN ... THEN 'label' END.",
            position=position,
        )
    return Key(name, expression, _Domains(query, policy, facts).of(expression))


class _Domains:
    """The public values of the keys of one query."""

    def __init__(self, query: Query, policy: Policy, facts: Facts) -> None:
        self._query = query
        self._policy = policy
        self._facts = facts

    def of(self, expression: Expression) -> tuple[Value, ...] | None:
        """All values the expression can have, sorted, or None when they are private."""
        known = self._unfiltered(expression)
        for listed in self._listed(expression):
            known = listed if known is None else tuple(value for value in known if value in listed)
        return known

    def _unfiltered(self, expression: Expression) -> tuple[Value, ...] | None:
        if isinstance(expression, Column):
            declared = self._column(expression)
            if declared is not None:
                return declared
        if expression.type is Type.BOOLEAN:
            return (False, True)
        if isinstance(expression, Column):
            return None
        labels = _labels(expression)
        if labels is not None:
            return labels
        return self._function(expression)

    def _function(self, expression: Expression) -> tuple[Value, ...] | None:
        arguments = tuple(dict.fromkeys(columns(expression)))
        domains = [(column, self.of(column)) for column in arguments]
        # NULL is no group, but the function may make one of it, as COALESCE does.
        known = tuple(
            (column, (*(v for v in values if v is not None), None))
            for column, values in domains
            if values is not None
        )
        if len(known) == len(domains) and math.prod(len(values) for _, values in known) <= MAX_VALUES:
            return tuple(value for value in self._facts.values(expression, known) if value is not None)
        if isinstance(expression, Call) and expression.function in _FIXED_PARTS:
            return tuple(_FIXED_PARTS[expression.function])
        return None

    def _column(self, column: Column) -> tuple[Value, ...] | None:
        scan = next(scan for scan in self._query.scans if scan.alias == column.source)
        if scan.public:
            return self._facts.public_values(scan.table, column.name)
        declared = self._policy.tables[scan.table].column(column.name)
        return None if declared is None else declared_values(declared, self._facts)

    def _listed(self, expression: Expression) -> list[tuple[Value, ...]]:
        """The constants that the query's own WHERE allows for the expression."""
        found: list[tuple[Value, ...]] = []
        for condition in conjuncts(self._query.where):
            if not isinstance(condition, Call) or condition.function not in ("in", "eq"):
                continue
            subject, *constants = condition.arguments
            values = [c.value for c in constants if isinstance(c, Literal) and c.type is expression.type]
            nulls = [c for c in constants if isinstance(c, Literal) and c.type is Type.NULL]
            # A constant of another type is compared by its value, so it may still be one of the key's.
            if subject == expression and len(values) + len(nulls) == len(constants):
                known = {value for value in values if value is not None}
                found.append(tuple(sorted(known, key=_order)))
        return found


def declared_values(column: ColumnPolicy, facts: Facts) -> tuple[Value, ...] | None:
    """The public values that a column's policy gives, sorted and NULL last; None where it gives none."""
    match column.key_domain:
        case None:
            return None
        case Values(values=values):
            found: tuple[Value, ...] = tuple(sorted((v for v in values if v is not None), key=_order))
            return (*found, None) if None in values else found
        case Range(from_=low, to=high):
            return (*_range(low, high, column.name), *((None,) if column.null_group else ()))
        case Reference(table=table, column=referenced):
            return (*facts.public_values(table, referenced), *((None,) if column.null_group else ()))


def _order(value: Value) -> tuple[int, object]:
    return (0, value.encode()) if isinstance(value, str) else (1, value)


def _labels(expression: Expression) -> tuple[Value, ...] | None:
    """The constants a CASE chooses among; NULL is no group."""
    if not isinstance(expression, Case):
        return None
    results = [value for _, value in expression.branches] + [expression.default]
    if not all(isinstance(value, Literal) for value in results):
        return None
    values = {value.value for value in results if isinstance(value, Literal)}
    return tuple(sorted((value for value in values if value is not None), key=_order))


def _range(low: object, high: object, name: str) -> tuple[Value, ...]:
    if isinstance(low, datetime.date) and isinstance(high, datetime.date):
        _check_size((high - low).days + 1, name)
        return tuple(low + datetime.timedelta(days=day) for day in range((high - low).days + 1))
    if isinstance(low, int) and isinstance(high, int):
        _check_size(high - low + 1, name)
        return tuple(range(low, high + 1))
    raise PolicyRefused(errors.UNSUITABLE_KEY, f"Column {name!r} has a range that cannot be listed.")


def _check_size(size: int, name: str) -> None:
    if size > MAX_VALUES:
        raise UnsupportedQuery(
            errors.UNSUITABLE_KEY,
            f"Column {name!r} has {size} public values; at most {MAX_VALUES} can be groups.",
            hint="Group by a coarser key, as in a // 1000.",
        )
