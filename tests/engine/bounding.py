"""The bounded answer, computed a second time in plain Python over fetched rows.

Nothing here is shared with the code under test: owners, constants, domains, group caps, weights, clips and
the grid are written anew from their definition.
"""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

from tests.strategies import PRIVATE, Database

Record: TypeAlias = dict[str, Any]
Group: TypeAlias = tuple[Any, ...]


def always(_: Record) -> bool:
    return True


@dataclass(frozen=True)
class Count:
    """Rows that satisfy a condition, each with its unit's weight."""

    where: Callable[[Record], Any] = always


@dataclass(frozen=True)
class Units:
    """Units with a row that satisfies a condition, each once a group."""

    where: Callable[[Record], Any] = always


@dataclass(frozen=True)
class Sum:
    """Clipped values on a grid; ``per_unit`` is the grid's steps to 1, ``limit`` the `max_sum`."""

    value: Callable[[Record], Any]
    low: float
    high: float
    per_unit: int = 1
    where: Callable[[Record], Any] = always
    limit: int | None = None
    middle: int = 0

    def index(self, record: Record) -> int | None:
        """The grid index of a row's value; a value that is no number counts as the upper bound."""
        value = self.value(record)
        if value is None:
            return None
        clipped = self.high if not value <= self.high else max(value, self.low)
        return math.floor(clipped * self.per_unit + 0.5) - self.middle


@dataclass(frozen=True)
class Average:
    """The mean of clipped values."""

    total: Sum

    def parts(self) -> tuple[Sum, Count]:
        """The sum from the middle of the bounds, and the count of values."""
        total = self.total
        ends = (math.floor(end * total.per_unit + 0.5) for end in (total.low, total.high))
        middle = sum(ends) // 2
        centred = Sum(total.value, total.low, total.high, total.per_unit, total.where, None, middle)
        return centred, Count(lambda record: total.where(record) and total.value(record) is not None)


Aggregate: TypeAlias = Count | Units | Sum | Average


@dataclass(frozen=True)
class Question:
    """A query, and the same in terms of this module.

    ``domains`` are the public values of each key, None for a private key; ``row_bound`` is R and ``groups``
    the cap on a unit's groups; ``expand`` gives the joined rows of one row.
    """

    sql: str
    table: str
    aggregates: tuple[Aggregate, ...]
    row_bound: int
    keys: tuple[Callable[[Record], Any], ...] = ()
    domains: tuple[tuple[Any, ...] | None, ...] = ()
    groups: int = 1
    where: Callable[[Record], Any] = always
    constants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    expand: Callable[[Record], Iterable[Record]] = lambda record: (record,)

    @property
    def private(self) -> bool:
        """Whether some key has no public values."""
        return None in self.domains

    def answer(self, database: Database, cap_key: str, threshold: float) -> list[Group]:
        """The answer without noise: public groups all, private ones of at least ``threshold`` units."""
        kept = {u: self._capped(u, g, cap_key) if self.private else g for u, g in self._by_unit(database)}
        counted = {u: self._capped(u, g, cap_key) for u, g in kept.items()}
        weights = {unit: self._weight(groups) for unit, groups in kept.items()}
        if self.private:
            shown = sorted({key for groups in kept.values() for key in groups}, key=_nulls_last)
            shown = [key for key in shown if sum(key in g for g in counted.values()) >= threshold]
        else:
            shown = sorted(_combinations([d for d in self.domains if d is not None]), key=_nulls_last)
        return [
            (*key, *(self._cell(part, key, kept, counted, weights) for part in self.aggregates))
            for key in shown
        ]

    def _by_unit(self, database: Database) -> Iterator[tuple[int, dict[Group, list[Record]]]]:
        names = [name for name, _ in PRIVATE[self.table]]
        owned: dict[int, list[Record]] = defaultdict(list)
        for row, owner in zip(database.rows[self.table], database.owners[self.table], strict=True):
            if owner is not None:
                owned[owner].append(dict(zip(names, row, strict=True)))
        for unit, records in owned.items():
            for name, domain in self.constants:
                inside = [record[name] for record in records if record[name] in domain]
                records = [{**record, name: min(inside, default=None)} for record in records]
            joined = [whole for record in records for whole in self.expand(record) if self.where(whole)]
            yield unit, self._grouped(joined)

    def _grouped(self, records: list[Record]) -> dict[Group, list[Record]]:
        groups: dict[Group, list[Record]] = defaultdict(list)
        for record in records:
            key = tuple(part(record) for part in self.keys)
            if all(d is None or value in d for value, d in zip(key, self.domains, strict=True)):
                groups[key].append(record)
        return groups

    def _capped(
        self, unit: int, groups: dict[Group, list[Record]], cap_key: str
    ) -> dict[Group, list[Record]]:
        def drawn(key: Group) -> str:
            texts = ("n" if value is None else f"v{_text(value)}" for value in key)
            return hashlib.md5(
                "\x1f".join((cap_key, str(unit), *texts)).encode(), usedforsecurity=False
            ).hexdigest()

        return {key: groups[key] for key in sorted(groups, key=drawn)[: self.groups]}

    def _weight(self, groups: dict[Group, list[Record]]) -> int:
        records = [record for group in groups.values() for record in group]
        shares = [(len(records), self.row_bound)]
        for part in self.aggregates:
            if isinstance(part, Sum) and part.limit is not None:
                shares.append((sum(abs(part.index(record) or 0) for record in records), part.limit))
        return min(1024 if total <= most else 1024 * most // total for total, most in shares)

    def _cell(
        self,
        part: Aggregate,
        key: Group,
        kept: dict[int, dict[Group, list[Record]]],
        counted: dict[int, dict[Group, list[Record]]],
        weights: dict[int, int],
    ) -> Any:
        match part:
            case Units(where=where):
                return sum(any(where(r) for r in groups.get(key, ())) for groups in counted.values())
            case Count(where=where):
                cell = sum(weights[u] * sum(bool(where(r)) for r in g.get(key, ())) for u, g in kept.items())
                return _whole(cell)
            case Sum():
                cell = sum(
                    weights[u] * (part.index(r) or 0)
                    for u, g in kept.items()
                    for r in g.get(key, ())
                    if part.where(r)
                )
                return _whole(cell) / part.per_unit if part.per_unit > 1 else _whole(cell)
            case Average():
                total, count = part.parts()
                rows = max(1, self._cell(count, key, kept, counted, weights))
                mean = total.middle / total.per_unit + self._cell(total, key, kept, counted, weights) / rows
                return min(max(mean, total.low), total.high)


def _whole(cell: int) -> int:
    """The nearest whole number of a cell in 1024ths."""
    return (2 * cell + 1024) // 2048


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _combinations(domains: list[tuple[Any, ...]]) -> list[Group]:
    found: list[Group] = [()]
    for domain in domains:
        found = [(*group, value) for group in found for value in domain]
    return found


def _nulls_last(key: Group) -> tuple[tuple[bool, Any], ...]:
    return tuple((value is None, value.encode() if isinstance(value, str) else value or 0) for value in key)
