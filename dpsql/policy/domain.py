"""Which values of a column are public?"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Annotated, cast

from pydantic import PlainValidator, WithJsonSchema

from dpsql.policy.number import describe

Value = str | int | bool | datetime.date | None
RangeEnd = int | datetime.date


@dataclass(frozen=True, slots=True)
class Values:
    """A list of public values, of the column's type and each once; None stands for the NULL group."""

    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """All whole numbers or all days from `from_` to `to`, both included."""

    from_: RangeEnd
    to: RangeEnd


@dataclass(frozen=True, slots=True)
class Reference:
    """The values of one column of a public table."""

    table: str
    column: str

    def __str__(self) -> str:
        return f"{self.table}.{self.column}"


Domain = Values | Range | Reference


def parse_reference(value: str) -> Reference:
    """`table.column` as a reference.

    Raises:
        ValueError: the text has not exactly one dot, between two names.
    """
    table, dot, column = value.partition(".")
    if not table or not dot or not column or "." in column:
        raise ValueError(f"must be written table.column, not {value[:80]!r}")
    return Reference(table, column)


def is_day(value: object) -> bool:
    """Whether a value is a calendar day (a moment of a day is not)."""
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)


def _parse_range(value: dict[object, object]) -> Range:
    if set(value) != {"from", "to"}:
        raise ValueError("a range is written {from: ..., to: ...}")
    low, high = value["from"], value["to"]
    ends = low, high
    if all(isinstance(end, int) and not isinstance(end, bool) for end in ends) or all(map(is_day, ends)):
        return Range(cast(RangeEnd, low), cast(RangeEnd, high))
    raise ValueError(
        "a range goes from one whole number to another, or from one date (2024-01-31) to another"
    )


def _value(value: object) -> Value:
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, datetime.date) and is_day(value):
        return value
    raise ValueError(f"a domain lists texts, whole numbers, booleans or dates, not {describe(value)}")


def parse_domain(value: object) -> Domain:
    """A domain from one of its three written forms: a list, {from:, to:}, or table.column.

    Raises:
        ValueError: the value has none of these forms.
    """
    match value:
        case Values() | Range() | Reference():
            return value
        case list() | tuple():
            return Values(tuple(_value(element) for element in value))
        case dict():
            return _parse_range(value)
        case str():
            return parse_reference(value)
        case _:
            raise ValueError(
                f"must be a list of values, a range {{from:, to:}} or table.column, not {describe(value)}"
            )


_LITERAL_SCHEMA = {"type": ["string", "integer", "boolean", "null"]}
_END_SCHEMA = {"type": ["integer", "string"]}
_SCHEMA = {
    "anyOf": [
        {"type": "array", "items": _LITERAL_SCHEMA, "minItems": 1, "uniqueItems": True},
        {
            "type": "object",
            "properties": {"from": _END_SCHEMA, "to": _END_SCHEMA},
            "required": ["from", "to"],
            "additionalProperties": False,
        },
        {"type": "string", "pattern": r"^[^.]+\.[^.]+$"},
    ]
}

DomainField = Annotated[Domain, PlainValidator(parse_domain), WithJsonSchema(_SCHEMA)]
