"""A differentially private SQL proxy: noisy answers whose price is known before any row is read."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from dpsql.errors import (
    BudgetExceeded,
    DatabaseError,
    DataError,
    EngineFailure,
    Error,
    IntegrityError,
    InterfaceError,
    InternalError,
    LedgerError,
    NotSupportedError,
    OperationalError,
    PolicyError,
    PolicyRefused,
    ProgrammingError,
    UnsupportedQuery,
    Warning,
)

if TYPE_CHECKING:
    from dpsql.dbapi import Connection, Cursor, connect

# Python prints records nobody handles on stderr, which an analyst may see.
logging.getLogger(__name__).addHandler(logging.NullHandler())

__version__: Final = "0.1.0"
apilevel: Final = "2.0"
threadsafety: Final = 2
paramstyle: Final = "qmark"

__all__ = [
    "BudgetExceeded",
    "Connection",
    "Cursor",
    "DataError",
    "DatabaseError",
    "EngineFailure",
    "Error",
    "IntegrityError",
    "InterfaceError",
    "InternalError",
    "LedgerError",
    "NotSupportedError",
    "OperationalError",
    "PolicyError",
    "PolicyRefused",
    "ProgrammingError",
    "UnsupportedQuery",
    "Warning",
    "apilevel",
    "connect",
    "paramstyle",
    "threadsafety",
]


def __getattr__(name: str) -> Any:
    # The interface loads DuckDB and sqlglot; `dpsql --help` must not.
    if name in ("Connection", "Cursor", "connect"):
        from dpsql import dbapi

        return getattr(dbapi, name)
    raise AttributeError(f"module 'dpsql' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "errors"])
