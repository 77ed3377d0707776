"""How are the public values of a key written: as a test of a row, and as a relation?"""

from __future__ import annotations

import datetime
from typing import Final

from dpsql.analysis.partitions import Key
from dpsql.engine.render import SQL_TYPES, constant
from dpsql.sql.expression import Literal, Type, Value

LISTED: Final = 64
"""Up to this many values are written out; more come as a parameter."""


def inside(number: int, key: Key) -> str | None:
    """Whether a row's key is one of its public values; None for a private key, where every value is."""
    if key.domain is None:
        return None
    values = tuple(value for value in key.domain if value is not None)
    condition = _among(number, key, values)
    return f"({condition} OR {key.name} IS NULL)" if None in key.domain else condition


def _among(number: int, key: Key, values: tuple[Value, ...]) -> str:
    kind = key.expression.type
    if not values:
        return "FALSE"
    if _contiguous(values):
        low, high = (constant(Literal(values[end], kind)) for end in (0, -1))
        return f"{key.name} BETWEEN {low} AND {high}"
    if len(values) > LISTED:
        return f"{key.name} IN (SELECT unnest({parameter(number, kind)}))"
    listed = ", ".join(constant(Literal(value, kind)) for value in values)
    # The CASE keeps the engine from making a join of it: it is then evaluated once per dictionary entry.
    return f"CASE WHEN {key.name} IN ({listed}) THEN TRUE ELSE FALSE END"


def _contiguous(values: tuple[Value, ...]) -> bool:
    """Whether the sorted values are all whole numbers, or all days, of a range."""
    first, last = values[0], values[-1]
    if isinstance(first, datetime.date) and isinstance(last, datetime.date):
        return (last - first).days + 1 == len(values)
    if isinstance(first, bool) or not isinstance(first, int) or not isinstance(last, int):
        return False
    return last - first + 1 == len(values)


def parameter(number: int, kind: Type) -> str:
    """The public values of key ``number`` as an array parameter."""
    return f"$d{number}::{SQL_TYPES[kind]}[]"


def relation(number: int, key: Key) -> str:
    """The public values of a key as a relation of one column."""
    return f"(SELECT unnest({parameter(number, key.expression.type)}) AS {key.name})"


def bits(number: int, key: Key) -> str:
    """The public values of a key, each with a bit of its own."""
    values = parameter(number, key.expression.type)
    numbered = f"SELECT unnest({values}) AS {key.name}, unnest(range(len({values}))) AS i"
    return f"SELECT {key.name}, 1::BIGINT << i::INTEGER AS bit FROM ({numbered})"
