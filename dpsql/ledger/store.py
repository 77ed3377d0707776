"""Where do the entries live? An append-only log and a small index beside it, changed together or not at all.

`Store` is all the ledger needs of a database; `SQLiteStore` keeps it in one file. The index holds only what
follows from the entries (see `dpsql.ledger.index`), apart from the ledger's secret.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import quote

from dpsql import errors
from dpsql.ledger.damage import broken
from dpsql.ledger.sealed import sealed

VERSION: Final = 1
MEMORY: Final = ":memory:"
_APPLICATION: Final = 0x6470736C  # "dpsl": tells a ledger from any other SQLite file
_PATIENCE: Final = 10.0  # seconds to wait for another process's transaction
_SCHEMA: Final = (
    "CREATE TABLE entries (sequence INTEGER PRIMARY KEY, time TEXT NOT NULL, body BLOB NOT NULL,"
    " hash TEXT NOT NULL) STRICT",
    "CREATE TABLE state (kind TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,"
    " PRIMARY KEY (kind, name)) STRICT, WITHOUT ROWID",
    "CREATE TRIGGER entries_are_not_edited BEFORE UPDATE ON entries"
    " BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END",
    "CREATE TRIGGER entries_are_not_deleted BEFORE DELETE ON entries"
    " BEGIN SELECT RAISE(ABORT, 'entries are append-only'); END",
)
# SQLite locks belong to the process: closing a descriptor of the file would drop those of other connections.
_CREATION: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Row:
    """One stored entry."""

    sequence: int
    time: str
    body: bytes
    hash: str


class Store(Protocol):
    """A log and an index; all but `fault` and `close` happens inside `writing` or `reading`."""

    def writing(self) -> AbstractContextManager[None]:
        """A transaction of its own after all others; durable when it ends, undone when it raises."""

    def reading(self) -> AbstractContextManager[None]:
        """One unchanging view of the store."""

    def last(self) -> Row | None:
        """The newest row."""

    def rows(self, after: int, limit: int) -> list[Row]:
        """At most `limit` rows above the number `after`, in order."""

    def append(self, row: Row) -> None:
        """Adds a row; its number must be new."""

    def has(self, kind: str, name: str) -> bool:
        """Whether the index has such a value."""

    def get(self, kind: str, name: str) -> str | None:
        """One value of the index."""

    def items(self, kind: str) -> dict[str, str]:
        """All values of a kind."""

    def put(self, kind: str, name: str, write: Callable[[], str]) -> None:
        """Sets a value of the index."""

    def drop(self, kind: str, name: str) -> None:
        """Removes a value of the index."""

    def fault(self) -> str | None:
        """What is wrong with the store as a database, or None."""

    def close(self) -> None:
        """Gives the store back; a second call does nothing."""


def open_store(location: str | Path, *, read_only: bool = False) -> Store:
    """The store at a path or at ":memory:", created (mode 0600) if it is absent.

    Raises:
        LedgerError: when it cannot be opened, or is not a ledger of a format this version knows.
    """
    text = str(location)
    if "://" in text:
        raise _trouble("A ledger is a file; this location is a URL.", "Give the path of a file.")
    return SQLiteStore(text, read_only=read_only)


class SQLiteStore:
    """A store in one SQLite file (WAL, synchronous=FULL), safe for threads and local processes."""

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._process = os.getpid()
        with _CREATION, _translated(path):
            if not read_only and path != MEMORY:
                _create_file(path)
            self._connection = _connect(path, read_only=read_only)
            # A session that nobody closed gives its file back when it is forgotten.
            forgotten = weakref.finalize(self, _close, self._connection, self._process)
            forgotten.atexit = False
            try:
                self._prepare(read_only=read_only)
            except BaseException:
                self._connection.close()
                raise

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A serialised transaction; when it ends without an error its rows survive a power cut."""
        with self._transaction("BEGIN IMMEDIATE"):
            yield

    @contextmanager
    def reading(self) -> Iterator[None]:
        """A snapshot of the last committed state."""
        with self._transaction("BEGIN"):
            yield

    def last(self) -> Row | None:
        """The newest row."""
        found = self._execute("SELECT sequence, time, body, hash FROM entries ORDER BY sequence DESC LIMIT 1")
        row = found.fetchone()
        return None if row is None else Row(*row)

    def rows(self, after: int, limit: int) -> list[Row]:
        """At most `limit` rows above the number `after`, in order."""
        found = self._execute(
            "SELECT sequence, time, body, hash FROM entries WHERE sequence > ? ORDER BY sequence LIMIT ?",
            (after, limit),
        )
        return [Row(*row) for row in found]

    def append(self, row: Row) -> None:
        """Adds a row."""
        self._execute(
            "INSERT INTO entries (sequence, time, body, hash) VALUES (?, ?, ?, ?)",
            (row.sequence, row.time, row.body, row.hash),
        )

    def has(self, kind: str, name: str) -> bool:
        """Whether the index has such a value."""
        return self.get(kind, name) is not None

    def get(self, kind: str, name: str) -> str | None:
        """One value of the index."""
        row = self._execute("SELECT value FROM state WHERE kind = ? AND name = ?", (kind, name)).fetchone()
        return None if row is None else str(row[0])

    def items(self, kind: str) -> dict[str, str]:
        """All values of a kind, ordered by name."""
        return dict(self._execute("SELECT name, value FROM state WHERE kind = ? ORDER BY name", (kind,)))

    def put(self, kind: str, name: str, write: Callable[[], str]) -> None:
        """Sets a value of the index."""
        self._execute(
            "INSERT INTO state (kind, name, value) VALUES (?, ?, ?)"
            " ON CONFLICT (kind, name) DO UPDATE SET value = excluded.value",
            (kind, name, write()),
        )

    def drop(self, kind: str, name: str) -> None:
        """Removes a value of the index."""
        self._execute("DELETE FROM state WHERE kind = ? AND name = ?", (kind, name))

    def fault(self) -> str | None:
        """SQLite's own check of the file's pages, and ours of its tables."""
        try:
            with self.reading():
                pages = self._execute("PRAGMA integrity_check(1)").fetchone()[0]
                tables = self._tables()
        except errors.LedgerError:
            return "SQLite cannot read the file."
        if pages != "ok":
            return "SQLite finds damaged pages."
        return None if tables == _SCHEMA else "The tables are not those of a ledger."

    def copy_to(self, path: str) -> None:
        """Writes the last committed state to a new file, which only its owner can read; others may go on."""
        with self._lock, _translated(path):
            _create_file(path)
            with closing(sqlite3.connect(path)) as target:
                self._connection.backup(target)
                # A copy is one file: read or moved, it needs no side file.
                target.execute("PRAGMA journal_mode=DELETE")

    def close(self) -> None:
        """Closes the file."""
        with self._lock:
            self._connection.close()

    def _prepare(self, *, read_only: bool) -> None:
        if not read_only:
            self._journal()
            with self.writing():
                if self._pragma("application_id") == 0 and not self._tables():
                    self._create_tables()
        application, version = self._pragma("application_id"), self._pragma("user_version")
        if application != _APPLICATION:
            raise _trouble(
                f"{self._path!r} is not a ledger.", "Give the path of a ledger, or of no file yet."
            )
        if version != VERSION:
            raise _trouble(
                f"The ledger {self._path!r} has format {version}; this dpsql knows format {VERSION}.",
                "Use the version of dpsql that wrote it, or a newer one.",
            )
        if self._tables() != _SCHEMA:
            # A trigger or view of a stranger could change what our statements do.
            raise broken("Its tables are not those of a ledger")

    def _journal(self) -> None:
        if self._path == MEMORY:
            return
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                # The change to WAL does not wait for other processes as statements do.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _create_tables(self) -> None:
        for statement in _SCHEMA:
            self._connection.execute(statement)
        self._connection.execute(f"PRAGMA application_id={_APPLICATION}")
        self._connection.execute(f"PRAGMA user_version={VERSION}")

    def _tables(self) -> tuple[str, ...]:
        found = self._connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid")
        return tuple(row[0] for row in found)

    def _pragma(self, name: str) -> int:
        return int(self._connection.execute(f"PRAGMA {name}").fetchone()[0])

    def _execute(self, statement: str, values: tuple[object, ...] = ()) -> sqlite3.Cursor:
        return self._connection.execute(statement, values)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        if os.getpid() != self._process:
            # A forked copy of the connection would share, and at exit drop, the parent's locks.
            raise _trouble("A ledger cannot be used in a forked process.", "Open the ledger in that process.")
        with self._lock, _translated(self._path):
            self._connection.execute(begin)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _create_file(path: str) -> None:
    # SQLite would create it readable for everybody; its -wal and -shm files take over the mode.
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, stat.S_IRUSR | stat.S_IWUSR)
    except FileExistsError:
        return
    os.close(descriptor)
    sync_folder(os.path.dirname(os.path.abspath(path)))


def sync_folder(path: str) -> None:
    """Makes a new name in a folder survive a power cut."""
    # Without it a power cut could take the new file away, and the next session would start unspent.
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _close(connection: sqlite3.Connection, process: int) -> None:
    # A forked child holds a copy that is its parent's to close.
    if os.getpid() == process:
        connection.close()


def _connect(path: str, *, read_only: bool) -> sqlite3.Connection:
    mode = ("ro&immutable=1" if sealed(path) else "ro") if read_only else "rw"
    target = path if path == MEMORY else f"file:{quote(os.path.abspath(path))}?mode={mode}"
    connection = sqlite3.connect(
        target, uri=path != MEMORY, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
    )
    try:
        connection.execute("PRAGMA trusted_schema=OFF")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")
    except BaseException:
        connection.close()
        raise
    return connection


def _trouble(message: str, hint: str | None = None) -> errors.LedgerError:
    return errors.LedgerError(errors.LEDGER_STORE, message, hint=hint)


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """Turns what SQLite and the operating system raise into a LedgerError."""
    try:
        yield
    except sqlite3.Error as error:
        # SQLite's text names tables and columns of the ledger, never a value.
        raise _trouble(
            f"The ledger {path!r} cannot be read or written: {error}.",
            "Look at the disk's room, the file's rights and other processes.",
        ) from error
    except UnicodeError as error:
        raise _trouble("A name or a key is not valid Unicode.") from error
    except OSError as error:
        raise _trouble(
            f"The ledger {path!r} cannot be opened: {error.strerror}.",
            "Give a path in a folder that exists and can be written.",
        ) from error
