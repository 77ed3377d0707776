"""Whom does the policy protect, and which rows are theirs?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field, PlainValidator, WithJsonSchema

from dpsql.policy.domain import Reference, parse_reference
from dpsql.policy.number import describe
from dpsql.policy.part import Part


class PrivacyUnit(Part):
    """Whose presence is hidden: one person, customer or device with all its rows."""

    name: str = Field(min_length=1, description="What one unit is called; names its account `unit:<name>`.")
    table: str | None = Field(
        default=None, description="The private table with one row per unit, if there is one; needs `key`."
    )
    key: str | None = Field(default=None, description="The column of `table` that identifies a unit.")


@dataclass(frozen=True, slots=True)
class UnitPath:
    """A row belongs to the unit that owns the row it refers to: `column` equals `references`."""

    column: str
    references: str

    @property
    def target(self) -> Reference:
        """The referenced table and column."""
        return parse_reference(self.references)


@dataclass(frozen=True, slots=True)
class UnitStep:
    """One step from a table towards the table that holds the unit's column."""

    table: str
    column: str
    parent: str
    parent_column: str


def parse_unit(value: object) -> str | UnitPath:
    """A unit from its written form: a column's name, or {column:, references: table.column}.

    Raises:
        ValueError: the value has neither form.
    """
    match value:
        case UnitPath():
            return value
        case str() if value:
            return value
        case {"column": str() as column, "references": str() as references, **rest} if not rest:
            parse_reference(references)
            return UnitPath(column, references)
        case _:
            raise ValueError(
                f"must be a column, or a path {{column:, references: table.column}}, not {describe(value)}"
            )


_SCHEMA = {
    "anyOf": [
        {"type": "string", "minLength": 1},
        {
            "type": "object",
            "properties": {
                "column": {"type": "string"},
                "references": {"type": "string", "pattern": r"^[^.]+\.[^.]+$"},
            },
            "required": ["column", "references"],
            "additionalProperties": False,
        },
    ]
}

UnitField = Annotated[str | UnitPath, PlainValidator(parse_unit), WithJsonSchema(_SCHEMA)]
