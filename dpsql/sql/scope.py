"""Which table and column does a name mean?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from dpsql import errors
from dpsql.errors import Position, ProgrammingError
from dpsql.policy.model import ColumnPolicy, TablePolicy
from dpsql.sql.expression import Column, Type
from dpsql.sql.relation import Scan

TYPES: Final[dict[str, Type]] = {
    "text": Type.TEXT,
    "integer": Type.INTEGER,
    "double": Type.DOUBLE,
    "decimal": Type.DOUBLE,
    "boolean": Type.BOOLEAN,
    "date": Type.DATE,
    "timestamp": Type.TIMESTAMP,
}


@dataclass(frozen=True, slots=True)
class Source:
    """A table in a query, under its alias, with the columns that USING has merged into an earlier one."""

    scan: Scan
    table: TablePolicy
    merged: frozenset[str] = frozenset()

    def column(self, name: str, position: Position | None) -> Column | None:
        """The source's column of that name, whatever its case."""
        found = self.table.column(name)
        return None if found is None else as_column(self.scan.alias, found, position)


def as_column(alias: str, column: ColumnPolicy, position: Position | None = None) -> Column:
    """A policy's column as an expression of a query."""
    return Column(alias, column.name, TYPES[column.type], position)


@dataclass(frozen=True, slots=True)
class Scope:
    """The sources a name can refer to, in the order of the text."""

    sources: tuple[Source, ...] = ()

    def with_source(self, source: Source) -> Scope:
        """The scope after one more source.

        Raises:
            ProgrammingError: DP105 when the alias is taken.
        """
        if any(known.scan.alias == source.scan.alias for known in self.sources):
            raise ProgrammingError(
                errors.AMBIGUOUS, "Two sources have the same name.", hint="Give each its own alias."
            )
        return Scope((*self.sources, source))

    def source(self, alias: str, position: Position | None) -> Source:
        """The source of that alias.

        Raises:
            ProgrammingError: DP101.
        """
        for source in self.sources:
            if source.scan.alias == alias.lower():
                return source
        raise ProgrammingError(
            errors.UNKNOWN_TABLE, "The query names a table that it does not read.", position=position
        )

    def column(self, name: str, alias: str | None, position: Position | None) -> Column:
        """The column a name means.

        Raises:
            ProgrammingError: DP102 when there is none, DP105 when there is more than one.
        """
        if alias is not None:
            found = self.source(alias, position).column(name, position)
            candidates = [] if found is None else [found]
        else:
            candidates = [
                column
                for source in self.sources
                if name.lower() not in source.merged and (column := source.column(name, position)) is not None
            ]
        if not candidates:
            # No suggestion: the message must be the same whatever the tables hold.
            raise ProgrammingError(
                errors.UNKNOWN_COLUMN, "The query names an unknown column.", position=position
            )
        if len(candidates) > 1:
            raise ProgrammingError(
                errors.AMBIGUOUS,
                "A column name fits more than one table.",
                hint="Write it as table.column.",
                position=position,
            )
        return candidates[0]
