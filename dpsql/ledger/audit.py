"""Does the ledger hold together? All entries replayed, and a report on each check by name.

Whoever can write the file can write one that holds together. What then remains is an `Anchor`, a head that
was noted elsewhere: it shows a rewritten chain, a cut-off end and a restored backup.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dpsql import errors
from dpsql.ledger import index
from dpsql.ledger.chain import GENESIS, Anchor, link
from dpsql.ledger.checks import Check, Filters, Policies, Releases, Sums
from dpsql.ledger.damage import unopened
from dpsql.ledger.entry import Numbered, Opened
from dpsql.ledger.log import numbered, read_rows
from dpsql.ledger.store import Row, Store, open_store

STORAGE: Final = "storage"
FORMAT: Final = "format"
CHAIN: Final = "chain"
ANCHOR: Final = "anchor"
INDEX: Final = "index"
SECRET: Final = "secret"  # noqa: S105 - the name of a check
HEAD: Final = "head"
STATES: Final = "states"
_COMPARED: Final = {index.HEAD: HEAD, index.POLICY: STATES, index.ACCOUNT: STATES, index.STATE: STATES}
_REPORTED: Final = 10  # faults of one check, after which it only counts
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ")


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found: `ok`, or a fault at the entry `sequence` (None: not at one entry)."""

    check: str
    ok: bool
    sequence: int | None
    detail: str


def audit(location: str | Path, anchor: Anchor | None = None) -> tuple[Finding, ...]:
    """Verifies the ledger at a path; a file that is no ledger is a finding, too.

    Raises:
        LedgerError: when there is no file, or it may not be read.
    """
    try:
        store = open_store(location, read_only=True)
    except errors.LedgerError as error:
        if unopened(error):
            raise
        return (Finding(STORAGE, False, None, error.message),)
    try:
        return audit_store(store, anchor)
    finally:
        store.close()


def audit_store(store: Store, anchor: Anchor | None = None) -> tuple[Finding, ...]:
    """Verifies an open ledger; every check reports at least once."""
    report = _Report()
    fault = store.fault()
    report.check(STORAGE, fault is None, None, fault or "")
    replay = _Replay(report, anchor)
    try:
        with store.reading():
            for row in read_rows(store):
                replay.see(row)
            replay.end(store)
    except errors.LedgerError as error:
        report.check(STORAGE, False, None, error.message)
    return report.findings(replay.count)


class _Report:
    """Findings in the making, by check, in the order in which checks first spoke."""

    def __init__(self) -> None:
        self._faults: dict[str, list[Finding]] = {}
        self._count: dict[str, int] = {}

    def check(self, name: str, ok: bool, sequence: int | None, detail: str) -> None:
        faults = self._faults.setdefault(name, [])
        if ok:
            return
        self._count[name] = self._count.get(name, 0) + 1
        if len(faults) < _REPORTED:
            faults.append(Finding(name, False, sequence, detail))

    def findings(self, entries: int) -> tuple[Finding, ...]:
        found: list[Finding] = []
        for name, faults in self._faults.items():
            found += faults or [Finding(name, True, None, f"{entries:,} entries")]
            hidden = self._count.get(name, 0) - len(faults)
            if hidden:
                found.append(Finding(name, False, None, f"{hidden:,} more faults"))
        return tuple(found)


class _Replay:
    """One pass over the rows: the chain on their bytes, everything else on their entries."""

    def __init__(self, report: _Report, anchor: Anchor | None) -> None:
        self._report = report
        self._anchor = anchor
        self._checks: tuple[Check, ...] = (Policies(), Sums(), Filters(), Releases())
        self._values = index.MemoryValues()
        self._last = Anchor(0, GENESIS)
        self._key_digest: str | None = None
        self._replayable = True
        self._anchor_met = False
        self.count = 0
        names = [FORMAT, CHAIN, *(check.name for check in self._checks)]
        for name in names:
            report.check(name, True, None, "")

    def see(self, row: Row) -> None:
        self.count += 1
        self._see_link(row)
        entry = self._read(row)
        if entry is None:
            self._replayable = False
            return
        if isinstance(entry.entry, Opened):
            self._key_digest = entry.entry.key_digest
        for check in self._checks:
            for fault in check.faults(entry.entry):
                self._report.check(check.name, False, row.sequence, fault)
        self._replay(entry)

    def end(self, store: Store) -> None:
        if self._anchor is not None:
            self._report.check(ANCHOR, self._anchor_met, None, f"entry {self._anchor} is not in this ledger")
        secret = store.get(index.SECRET, index.ONLY)
        digest = None if secret is None else _digest(secret)
        self._report.check(
            SECRET, digest == self._key_digest, None, "the secret is not the one of the opening"
        )
        if self._replayable:
            self._compare(store)
        else:
            self._report.check(INDEX, False, None, "the entries cannot be replayed")

    def _compare(self, store: Store) -> None:
        for kind in index.KINDS:
            names = _different(self._values.items(kind), store.items(kind))
            check = _COMPARED.get(kind, INDEX)
            self._report.check(
                check, not names, None, f"{kind} {', '.join(names)} is not what the entries say"
            )

    def _see_link(self, row: Row) -> None:
        expected = self._last.sequence + 1
        if row.sequence != expected:
            self._report.check(CHAIN, False, expected, f"entry {expected} is missing")
        elif link(self._last.hash, row.sequence, row.time, row.body) != row.hash:
            self._report.check(CHAIN, False, row.sequence, "the entry is not what was written here")
        # Going on from the stored hash finds the next broken link, too.
        self._last = Anchor(row.sequence, row.hash)
        self._anchor_met = self._anchor_met or self._last == self._anchor

    def _read(self, row: Row) -> Numbered | None:
        try:
            entry = numbered(row)
        except errors.LedgerError:
            self._report.check(FORMAT, False, row.sequence, "the entry cannot be read")
            return None
        self._report.check(
            FORMAT, _TIME.fullmatch(row.time) is not None, row.sequence, "the time has another form"
        )
        return entry

    def _replay(self, entry: Numbered) -> None:
        try:
            index.apply(self._values, entry)
        except KeyError:
            # The checks have said why.
            self._replayable = False


def _different(replayed: dict[str, str], stored: dict[str, str]) -> list[str]:
    names: Iterable[str] = sorted(replayed.keys() | stored.keys())
    return [repr(name) for name in names if replayed.get(name) != stored.get(name)][:_REPORTED]


def _digest(secret: str) -> str | None:
    try:
        return hashlib.sha256(bytes.fromhex(secret)).hexdigest()
    except ValueError:
        return None
