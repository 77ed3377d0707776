"""What may a plan know of the database? Public facts only, pinned when the session opens."""

from __future__ import annotations

from typing import Protocol

from dpsql.sql.expression import Column, Expression, Value


class Facts(Protocol):
    """The catalog's enforced constraints, the public tables, and expressions over public values."""

    @property
    def digest(self) -> str:
        """SHA-256 over all facts; another digest is another policy to the ledger."""
        ...

    def never_null(self, table: str, column: str) -> bool:
        """Whether the database enforces NOT NULL on the column."""
        ...

    def unique(self, table: str, column: str) -> bool:
        """Whether the database enforces that the column is unique and not NULL."""
        ...

    def multiplicity(self, table: str, columns: tuple[str, ...]) -> int:
        """The most rows of a public table that agree on the columns."""
        ...

    def public_values(self, table: str, column: str) -> tuple[Value, ...]:
        """The distinct values of a public table's column, sorted, without NULL."""
        ...

    def values(
        self, expression: Expression, domains: tuple[tuple[Column, tuple[Value, ...]], ...]
    ) -> tuple[Value, ...]:
        """The distinct values, sorted and NULL last, of an expression over its columns' domains."""
        ...
