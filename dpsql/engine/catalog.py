"""What does the source hold, in which types, and what does it enforce?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import duckdb

from dpsql.engine.folder import Folder
from dpsql.engine.public import TableFacts
from dpsql.engine.render import SQL_TYPES, quote
from dpsql.policy.model import ColumnPolicy, TablePolicy
from dpsql.sql.expression import Type
from dpsql.sql.scope import TYPES

_SMALL_INTEGERS: Final = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
)
_LARGE_INTEGERS: Final = frozenset({"UBIGINT", "HUGEINT", "UHUGEINT"})


# Stands for the definition of a view, which is not looked into: its texts are taken to be collated.
_VIEW: Final = "COLLATE"


@dataclass(frozen=True, slots=True)
class SourceColumn:
    """A column of the source: its name as spelt there, and its type there."""

    name: str
    kind: str


class Catalog:
    """Tables, types and enforced constraints of a source, matched to the policy without regard to case."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, folder: Folder | None = None) -> None:
        """Read the catalog of a database, or of the views that stand for the files of a folder."""
        self._connection = connection
        self._folder = folder
        here = "database_name = current_database()"
        main = f"{here} AND schema_name = 'main'"
        self._columns: dict[str, dict[str, SourceColumn]] = {}
        for table, column, kind in connection.execute(
            f"SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE {main}"
        ).fetchall():
            self._columns.setdefault(table.lower(), {})[column.lower()] = SourceColumn(column, kind)
        relations = connection.execute(
            f"SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE {here} AND NOT internal"
            f" UNION ALL SELECT schema_name, view_name, '{_VIEW}' FROM duckdb_views() WHERE {here}"
            " AND NOT internal ORDER BY 2"
        ).fetchall()
        self._elsewhere = {name.lower(): schema for schema, name, _ in relations if schema != "main"}
        self._names = {name.lower(): name for schema, name, _ in relations if schema == "main"}
        self._definitions = {name.lower(): sql for schema, name, sql in relations if schema == "main"}
        self._constraints = connection.execute(
            "SELECT table_name, constraint_type, constraint_column_names"
            f" FROM duckdb_constraints() WHERE {main}"
        ).fetchall()
        self._database = connection.execute("SELECT current_database()").fetchall()[0][0]

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables that a policy can name."""
        return tuple(self._names.values()) if self._folder is None else self._folder.tables

    def has(self, table: str) -> bool:
        """Whether the source has a table of that name."""
        return table.lower() in self._names

    def is_view(self, table: str) -> bool:
        """Whether the table is a view that somebody made in the database."""
        return self._folder is None and self._definitions.get(table.lower()) == _VIEW

    @property
    def shadowed(self) -> tuple[str, ...]:
        """Functions of the engine that the database gives another meaning."""
        found = self._connection.execute(
            "SELECT DISTINCT function_name FROM duckdb_functions() WHERE NOT internal"
            " INTERSECT SELECT function_name FROM duckdb_functions() WHERE internal ORDER BY 1"
        ).fetchall()
        return tuple(name for (name,) in found)

    def columns(self, table: str) -> tuple[str, ...]:
        """The names of all columns of a table, as the source spells them."""
        return tuple(column.name for column in self._columns.get(table.lower(), {}).values())

    def column(self, table: str, name: str) -> SourceColumn | None:
        """The column of that name, or None."""
        return self._columns.get(table.lower(), {}).get(name.lower())

    def is_text(self, table: str) -> bool:
        """Whether all columns of a table are texts, to be read as the policy says."""
        return self._folder is not None and self._folder.is_csv(table)

    def instead(self, table: str) -> str | None:
        """What of that name is in the source but cannot be read, and the way out; or None."""
        if self._folder is not None:
            return self._folder.instead(table)
        schema = self._elsewhere.get(table.lower())
        return (
            None
            if schema is None
            else (f"it is in schema `{schema}`, and only schema `main` is read: copy it there")
        )

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
        """The policy's columns of a table that fits, each in the type the policy gives it."""
        shown = ", ".join(
            f"{self.expression(table, column)} AS {quote(column.name)}" for column in table.columns.values()
        )
        return f"SELECT {shown} FROM {self._source(table)}"

    def repeated(self, table: TablePolicy, column: ColumnPolicy) -> int:
        """How many rows hold a value that another row held before."""
        value = self.expression(table, column)
        sql = f"SELECT COUNT({value}) - COUNT(DISTINCT {value}) FROM {self._source(table)}"
        return int(self._connection.execute(sql).fetchall()[0][0])

    def _source(self, table: TablePolicy) -> str:
        return f"{quote(self._database)}.main.{quote(self._names[table.name.lower()])}"

    def expression(self, table: TablePolicy, column: ColumnPolicy) -> str | None:
        """A column in the type the policy gives it; None where the source has no such column or type."""
        found = self.column(table.name, column.name)
        if found is None:
            return None
        wanted = TYPES[column.type]
        if self.is_text(table.name):
            converted: str | None = f"TRY_CAST({quote(found.name)} AS {SQL_TYPES[wanted]})"
        else:
            converted = _converted(quote(found.name), found.kind, wanted)
        if converted is None:
            return None
        if wanted is Type.TEXT and "COLLATE" in self._definitions[table.name.lower()].upper():
            # A collation that folds letters would make one unit, or one group, of two.
            converted = f'{converted} COLLATE "binary"'
        if table.public and wanted in (Type.DATE, Type.TIMESTAMP):
            # Public rows are fetched, and Python has no day outside these years.
            held = f"{converted} BETWEEN DATE '0001-01-01' AND DATE '9999-12-31'"
            converted = f"CASE WHEN {held} THEN {converted} END"
        return converted


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
