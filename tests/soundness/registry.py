"""Small registries for single rules: a few rows, a session on them, and what it has spent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from dpsql.dbapi import Connection
from dpsql.mechanisms import NoiseSource
from dpsql.mechanisms.sampler import SilentSampler
from dpsql.policy.load import parse
from dpsql.policy.model import Policy
from dpsql.session import Session, Terms
from tests.strategies import POLICY, PRIVATE, Row, owned, store

DEFAULTS: dict[str, dict[str, Any]] = {
    "visits": {"region": "north", "department": "oncology", "charge": 100.0, "minutes": 1, "urgent": True},
    "patients": {"hospital": "Elm", "sex": "F", "age": 40},
}


def row(table: str, **values: Any) -> Row:
    """One row; columns that are not named have a default or are NULL."""
    known = {**DEFAULTS.get(table, {}), **values}
    return tuple(known.get(name) for name, _ in PRIVATE[table])


def write(folder: Path, **rows: list[Row]) -> Policy:
    """A registry of these rows in a new file of the folder."""
    (folder / "registry.duckdb").unlink(missing_ok=True)
    return store(folder, owned({table: rows.get(table, []) for table in PRIVATE}))


def write_parquet(folder: Path, **rows: list[Row]) -> Policy:
    """The same registry as a folder of Parquet files."""
    write(folder, **rows)
    files = folder / "files"
    files.mkdir(exist_ok=True)
    with duckdb.connect(str(folder / "registry.duckdb")) as connection:
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f"COPY {table} TO '{files / table}.parquet' (FORMAT parquet)")
    return edited(folder, ("source: registry.duckdb", "source: files"))


def edited(folder: Path, *edits: tuple[str, str]) -> Policy:
    """The registry's policy with pieces of its text replaced."""
    text = POLICY
    for old, new in edits:
        assert old in text, old
        text = text.replace(old, new, 1)
    return parse(text, folder / "registry.yaml")


def opened(
    policy: Policy,
    ledger: str | Path = ":memory:",
    analyst: str | None = None,
    noise: NoiseSource | None = None,
) -> Session:
    """A session without noise, unless some is given."""
    return Session.open(policy, ledger, analyst, noise or SilentSampler())


def connected(session: Session) -> Connection:
    """The DB-API's connection over a session."""
    return Connection(session, Terms())
