"""What may a query know of a table and its columns, and what can one unit put into it?"""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, PlainValidator, PrivateAttr, WithJsonSchema

from dpsql.policy.budget import Budget
from dpsql.policy.domain import Domain, DomainField, Range, is_day
from dpsql.policy.number import Count, Positive, describe, exact
from dpsql.policy.part import Part
from dpsql.policy.unit import UnitField

ColumnType = Literal["text", "integer", "double", "decimal", "boolean", "date", "timestamp"]
Bounds = tuple[Decimal, Decimal] | tuple[datetime.date, datetime.date]

NUMERIC: Final[frozenset[ColumnType]] = frozenset({"integer", "double", "decimal"})
GROUPABLE: Final[frozenset[ColumnType]] = frozenset({"text", "integer", "boolean", "date"})


def _parse_bounds(value: object) -> Bounds:
    if not isinstance(value, list | tuple) or len(value) != 2:
        written = f"a list of {len(value)}" if isinstance(value, list | tuple) else describe(value)
        raise ValueError(f"must be a list of two ends [low, high], not {written}")
    low, high = value
    if isinstance(low, datetime.date) and isinstance(high, datetime.date) and is_day(low) and is_day(high):
        return low, high
    if is_day(low) or is_day(high):
        raise ValueError("both ends must be dates, or both numbers")
    return exact(low), exact(high)


_END: Final[dict[str, Any]] = {"type": ["number", "string"]}
_BOUNDS_SCHEMA: Final[dict[str, Any]] = {"type": "array", "items": _END, "minItems": 2, "maxItems": 2}
BoundsField = Annotated[Bounds, PlainValidator(_parse_bounds), WithJsonSchema(_BOUNDS_SCHEMA)]


class ColumnPolicy(Part):
    """What is public about a column: its type, where its values are clipped, which values it can have."""

    type: ColumnType = Field(
        description="Type of the values; timestamp can be filtered, not grouped or summed."
    )
    bounds: BoundsField | None = Field(
        default=None,
        description="[low, high]: values are clipped to it where they are summed. Integer and date bounds are"
        " a public domain for groups too. Never take them from the data.",
    )
    step: Positive | None = Field(
        default=None, description="Grid on which values are rounded before they are summed, such as 0.01."
    )
    domain: DomainField | None = Field(
        default=None,
        description="Public values: a list (may hold null), a range {from:, to:} of integers or dates, or"
        " table.column of a public table. Without it groups need a threshold and delta.",
    )
    constant: bool = Field(
        default=False, description="One value per unit; enforced by taking the unit's least value."
    )
    unique: bool = Field(default=False, description="No two rows share a value.")
    max_sum: Positive | None = Field(
        default=None, description="The most that one unit may add to a sum of absolute values of this column."
    )
    max_distinct: Count | None = Field(
        default=None,
        description="Values one unit may add to COUNT(DISTINCT column), default max_rows; that aggregate is"
        " refused so far for other columns than the unit.",
    )
    null_group: bool = Field(
        default=False, description="NULL is a group of its own beside a range or the values of a reference."
    )
    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The column's name, as the policy writes it."""
        return self._name

    def named(self, name: str) -> ColumnPolicy:
        """The same column under a name."""
        column = self.model_copy()
        column._name = name
        return column

    @property
    def number_bounds(self) -> tuple[Decimal, Decimal] | None:
        """The bounds of a number, or None."""
        low, high = self.bounds or (None, None)
        return (low, high) if isinstance(low, Decimal) and isinstance(high, Decimal) else None

    @property
    def date_bounds(self) -> tuple[datetime.date, datetime.date] | None:
        """The bounds of a date, or None."""
        low, high = self.bounds or (None, None)
        return (low, high) if isinstance(low, datetime.date) and isinstance(high, datetime.date) else None

    @property
    def key_domain(self) -> Domain | None:
        """The public values of the column as a group key: its domain, else its integer or date bounds."""
        if self.domain is not None:
            return self.domain
        if self.type == "integer" and self.number_bounds is not None:
            low, high = self.number_bounds
            return Range(int(low), int(high))
        return None if self.date_bounds is None else Range(*self.date_bounds)


def _name_columns(columns: dict[str, ColumnPolicy]) -> dict[str, ColumnPolicy]:
    return {name: column.named(name) for name, column in columns.items()}


class TablePolicy(Part):
    """A public table, or a private one with its unit, its budget and what one unit may contribute."""

    public: bool = Field(
        default=False, description="true: the table holds no personal data and is free to read."
    )
    unit: UnitField | None = Field(
        default=None,
        description="Column that names each row's unit, or a path {column:, references: table.column} through"
        " another table. The table of `privacy_unit` takes its `key`.",
    )
    budget: Budget | None = Field(default=None, description="What the table's account may lose in all.")
    max_rows: Count | None = Field(
        default=None, description="Rows one unit may contribute; enforced by weights, never trusted."
    )
    max_groups: dict[str, Count] = Field(
        default_factory=dict,
        description="Per column: groups of this key that one unit may touch; default max_rows.",
    )
    min_group_units: Count = Field(
        default=1, description="Units a group needs before it may be shown, on top of the noise threshold."
    )
    max_rows_per_group: Count | None = Field(
        default=None, description="Rows one unit may contribute to one group. Not supported yet: refused."
    )
    partition_by: str | None = Field(
        default=None, description="Key whose values get an account each. Not supported yet: refused."
    )
    columns: Annotated[dict[str, ColumnPolicy], AfterValidator(_name_columns)] = Field(
        min_length=1, description="The columns queries may use, by name; others do not exist for analysts."
    )
    _name: str = PrivateAttr(default="")

    @property
    def name(self) -> str:
        """The table's name, as the policy writes it."""
        return self._name

    def named(self, name: str) -> TablePolicy:
        """The same table under a name."""
        table = self.model_copy()
        table._name = name
        return table

    def column(self, name: str) -> ColumnPolicy | None:
        """The column of that name in any spelling of its letters, or None."""
        folded = name.casefold()
        return next((column for column in self.columns.values() if column.name.casefold() == folded), None)
