"""What does the source hold, in which types, and what does it enforce?"""

from __future__ import annotations

from typing import Final

import duckdb

from dpsql import errors
from dpsql.engine.public import TableFacts
from dpsql.engine.render import SQL_TYPES, quote
from dpsql.errors import PolicyError
from dpsql.policy.model import ColumnPolicy, TablePolicy
from dpsql.sql.expression import Type
from dpsql.sql.scope import TYPES

_SMALL_INTEGERS: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
)
_LARGE_INTEGERS: Final = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})


class Catalog:
    """Tables, types and enforced constraints of a source, matched to the policy without regard to case."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, *, untyped: frozenset[str]) -> None:
        """Read the catalog; columns of ``untyped`` tables are texts, to be read as the policy says."""
        self._untyped = untyped
        here = "database_name = current_database() AND schema_name = 'main'"
        self._types: dict[str, dict[str, tuple[str, str]]] = {}
        for table, column, kind in connection.execute(
            f"SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE {here}"
        ).fetchall():
            self._types.setdefault(table.lower(), {})[column.lower()] = (column, kind)
        relations = connection.execute(
            f"SELECT table_name, sql FROM duckdb_tables() WHERE {here}"
            f" UNION ALL SELECT view_name, 'COLLATE' FROM duckdb_views() WHERE {here}"
        ).fetchall()
        self._names = {name.lower(): name for name, _ in relations}
        # What a view is made of is not looked into: its texts are taken to be collated.
        self._definitions = {name.lower(): definition for name, definition in relations}
        self._constraints = connection.execute(
            "SELECT table_name, constraint_type, constraint_column_names"
            f" FROM duckdb_constraints() WHERE {here}"
        ).fetchall()
        self._database = connection.execute("SELECT current_database()").fetchall()[0][0]

    def facts(self, table: TablePolicy) -> TableFacts:
        """What is enforced: of native tables only, for a view or a file enforces nothing."""
        unique: set[str] = set()
        not_null: set[str] = set()
        for name, kind, columns in self._constraints:
            if name.lower() != table.name.lower() or len(columns) != 1:
                continue
            if kind in ("UNIQUE", "PRIMARY KEY"):
                unique.add(columns[0].lower())
            if kind in ("NOT NULL", "PRIMARY KEY"):
                not_null.add(columns[0].lower())
        return TableFacts(frozenset(unique), frozenset(not_null))

    def view(self, table: TablePolicy) -> str:
        """The policy's columns of a table, each in the type the policy gives it.

        Raises:
            PolicyError: DP403 for a missing table or column, or a type that does not fit.
        """
        name = self._names.get(table.name.lower())
        if name is None:
            raise PolicyError(errors.POLICY_DATA, f"The source has no table {table.name!r}.")
        source = f"{quote(self._database)}.main.{quote(name)}"
        collated = "COLLATE" in self._definitions[table.name.lower()].upper()
        shown = ", ".join(self._column(table, column, collated) for column in table.columns.values())
        return f"SELECT {shown} FROM {source}"

    def _column(self, table: TablePolicy, column: ColumnPolicy, collated: bool) -> str:
        found = self._types.get(table.name.lower(), {}).get(column.name.lower())
        if found is None:
            raise PolicyError(
                errors.POLICY_DATA, f"Table {table.name!r} of the source has no column {column.name!r}."
            )
        name, kind = found
        wanted = TYPES[column.type]
        if table.name.lower() in self._untyped:
            converted: str | None = f"TRY_CAST({quote(name)} AS {SQL_TYPES[wanted]})"
        else:
            converted = _converted(quote(name), kind, wanted)
        if converted is None:
            raise PolicyError(
                errors.POLICY_DATA,
                f"Column {table.name}.{column.name} is {kind} in the source, not {column.type}.",
            )
        if collated and wanted is Type.TEXT:
            # A collation that folds letters would make one unit, or one group, of two.
            converted = f'{converted} COLLATE "binary"'
        if table.public and wanted in (Type.DATE, Type.TIMESTAMP):
            # Public rows are fetched, and Python has no day outside these years.
            held = f"{converted} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            converted = f"CASE WHEN {held} THEN {converted} END"
        return f"{converted} AS {quote(column.name)}"


def _converted(name: str, kind: str, wanted: Type) -> str | None:
    """A source column in the wanted type, by a conversion that cannot fail; None where there is none."""
    base = kind.partition("(")[0]
    match wanted:
        case Type.INTEGER if base in _SMALL_INTEGERS:
            return name
        case Type.INTEGER if base in _LARGE_INTEGERS:
            return f"TRY_CAST({name} AS BIGINT)"
        case Type.DOUBLE if base == "DOUBLE":
            return name
        case Type.DOUBLE if base in _SMALL_INTEGERS | _LARGE_INTEGERS | {"FLOAT", "DECIMAL"}:
            return f"CAST({name} AS DOUBLE)"
        case Type.TEXT if base == "VARCHAR":
            return name
        case Type.TEXT if base in ("ENUM", "UUID"):
            return f"CAST({name} AS VARCHAR)"
        case _:
            same = SQL_TYPES.get(wanted) == base
            return name if same and wanted in (Type.BOOLEAN, Type.DATE, Type.TIMESTAMP) else None
