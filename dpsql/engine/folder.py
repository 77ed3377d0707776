"""How does a folder of files become tables?

`people.csv` or `people.parquet` is the table `people`. Sub-folders and compressed files are not read.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import duckdb

from dpsql import errors
from dpsql.engine.render import quote, text
from dpsql.errors import OperationalError

READERS: Final = (".parquet", ".csv")

# Nothing is sniffed: the dialect and the types would follow the rows, so that one row could decide how
# all are read. A line that cannot be read is skipped; strict mode would fail the whole scan at one stray CR.
_CSV: Final = (
    "read_csv({file}, auto_detect=false, header=true, columns={{{columns}}}, delim=',', quote='\"',"
    " escape='\"', comment='', ignore_errors=true, strict_mode=false)"
)


class Folder:
    """The files of a folder that are tables, found without regard to case."""

    def __init__(self, path: Path) -> None:
        """List the folder.

        Raises:
            OperationalError: DP501 when it cannot be listed.
        """
        self._path = path
        self._entries = _entries(path)
        self._files: dict[str, list[Path]] = defaultdict(list)
        for file in self._entries:
            if file.suffix.lower() in READERS and file.is_file():
                self._files[file.stem.lower()].append(file)

    @property
    def tables(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(files[0].stem for files in self._files.values())

    def file(self, table: str) -> Path | None:
        """The file of a table, or None."""
        files = self._files.get(table.lower())
        return files[0] if files else None

    def is_csv(self, table: str) -> bool:
        """Whether the table is a CSV file, whose columns are all texts."""
        file = self.file(table)
        return file is not None and file.suffix.lower() == ".csv"

    def instead(self, table: str) -> str | None:
        """What of that name is in the folder but is no table, and the way out; or None."""
        folded = table.lower()
        for path in self._entries:
            first, _, rest = path.name.lower().partition(".")
            if first != folded or path in self._files.get(folded, ()):
                continue
            if path.is_dir():
                return f"`{path.name}` is a sub-folder, and sub-folders are not read: make it one file"
            if rest.startswith(("csv.", "parquet.")):
                return f"`{path.name}` is compressed, and only .csv and .parquet are read: unpack it"
            return f"`{path.name}` is not read, only .csv and .parquet are"
        return None

    def allow(self, connection: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> None:
        """Let the connection read these files, and no others once external access is off."""
        listed = ", ".join(text(str(path)) for files in self._wanted(wanted) for path in files)
        connection.execute(f"SET allowed_paths=[{listed}]").fetchall()

    def attach(self, connection: duckdb.DuckDBPyConnection, wanted: Iterable[str]) -> None:
        """Make a view of each wanted table that is here.

        Raises:
            OperationalError: DP501 for files that cannot be read or are one table together, all of them.
        """
        tried = (_attached(connection, files) for files in self._wanted(wanted))
        faults = [fault for fault in tried if fault is not None]
        if faults:
            raise OperationalError(
                errors.SOURCE,
                f"The source folder {self._path.name!r} cannot be read: {'; '.join(faults)}.",
                hint="Each table is one file, Parquet or CSV in UTF-8, named after the table.",
            )

    def _wanted(self, names: Iterable[str]) -> list[list[Path]]:
        return [files for name in names if (files := self._files.get(name.lower()))]


def _entries(path: Path) -> list[Path]:
    try:
        return sorted(path.iterdir())
    except OSError as fault:
        raise OperationalError(
            errors.SOURCE, f"The source folder {path.name!r} cannot be read: {fault.strerror}."
        ) from None


def _attached(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> str | None:
    """Make the view of one table, or say why not."""
    file = files[0]
    if len(files) > 1:
        names = " and ".join(path.name for path in files)
        return f"{names} would both be the table {file.stem!r}: keep one of them"
    try:
        if file.suffix.lower() == ".csv" and _is_wide(file):
            return f"{file.name} is UTF-16: save it as UTF-8"
        if file.suffix.lower() == ".csv" and not _header(file):
            return f"{file.name} does not begin with a line of distinct column names"
        connection.execute(f"CREATE VIEW {quote(file.stem)} AS SELECT * FROM {_reader(file)}").fetchall()
    except (duckdb.Error, OSError) as fault:
        # The engine's text can quote a line of the file: only its kind is told.
        return f"{file.name} is damaged or not what its name says ({type(fault).__name__})"
    return None


def _reader(file: Path) -> str:
    if file.suffix.lower() == ".parquet":
        return f"read_parquet({text(str(file))})"
    columns = ", ".join(f"{text(name)}: 'VARCHAR'" for name in _header(file))
    return _CSV.format(file=text(str(file)), columns=columns)


def _header(file: Path) -> list[str]:
    """The names of the columns: the first line, the owner's, which holds no row; [] if it is no header."""
    try:
        with file.open("rb") as opened:
            # Only this line is decoded: a row that is not UTF-8 must not decide whether the file opens.
            names = next(csv.reader([opened.readline().decode("utf-8-sig")], strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        return []
    return names if all(names) and len({name.casefold() for name in names}) == len(names) else []


def _is_wide(file: Path) -> bool:
    """Whether a text has two bytes a character, which would be read as one table of garbled names."""
    with file.open("rb") as opened:
        start = opened.read(64)
    return start.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in start
