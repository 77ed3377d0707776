"""How entries get into the store and out of it: numbered, linked, and checked against the chain when read."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final

from dpsql.ledger import index
from dpsql.ledger.chain import GENESIS, Anchor, link
from dpsql.ledger.damage import broken
from dpsql.ledger.entry import Entry, Numbered, canonical, parse
from dpsql.ledger.store import Row, Store

_CHUNK: Final = 512
_LOWEST: Final = -(2**63)


def append(store: Store, entry: Entry) -> Numbered:
    """Writes an entry and what follows from it; to be called inside `store.writing()`.

    Raises:
        LedgerError: when the last entry is not the one written last.
    """
    last = store.last()
    sequence, previous = (0, GENESIS) if last is None else (last.sequence, last.hash)
    if last is not None and store.get(index.HEAD, index.ONLY) != str(Anchor(sequence, previous)):
        raise broken("Its last entry is not the one that was written last")
    body, time = canonical(entry), _minute()
    row = Row(sequence + 1, time, body, link(previous, sequence + 1, time, body))
    written = Numbered(row.sequence, row.hash, time, entry)
    store.append(row)
    index.apply(store, written)
    return written


def read_entry(store: Store, sequence: int) -> Numbered:
    """The entry of a number, after a check of its hash; to be called inside a transaction.

    Raises:
        LedgerError: when it is missing, edited or moved.
    """
    rows = {row.sequence: row for row in store.rows(max(sequence - 2, 0), 2)}
    row = rows.get(sequence)
    if row is None:
        raise broken(f"Entry {sequence} is missing")
    before = rows.get(sequence - 1)
    previous = GENESIS if before is None else before.hash
    if link(previous, row.sequence, row.time, row.body) != row.hash:
        raise broken(f"Entry {sequence} is not what was written")
    return numbered(row)


def read_entries(store: Store) -> Iterator[Numbered]:
    """All entries in order, in one view of the store per few hundred; hashes are the audit's to check."""
    after = 0
    while True:
        with store.reading():
            rows = store.rows(after, _CHUNK)
        if not rows:
            return
        for row in rows:
            yield numbered(row)
        after = rows[-1].sequence


def first_break(store: Store) -> int | None:
    """The number of the first entry that is not linked to the one before it, or None: the chain alone."""
    before = Anchor(0, GENESIS)
    with store.reading():
        for row in read_rows(store):
            expected = before.sequence + 1
            if row.sequence != expected or link(before.hash, expected, row.time, row.body) != row.hash:
                return expected
            before = Anchor(row.sequence, row.hash)
        written = store.get(index.HEAD, index.ONLY)
    return None if written in (None, str(before)) else before.sequence + 1


def read_rows(store: Store) -> Iterator[Row]:
    """All rows in order, those with numbers no ledger gives included; to be called inside a transaction."""
    after = _LOWEST
    while rows := store.rows(after, _CHUNK):
        yield from rows
        after = rows[-1].sequence


def numbered(row: Row) -> Numbered:
    """The entry of a row.

    Raises:
        LedgerError: when its bytes are no entry.
    """
    try:
        return Numbered(row.sequence, row.hash, row.time, parse(row.body))
    except ValueError as error:
        raise broken(f"Entry {row.sequence} cannot be read") from error


def _minute() -> str:
    # To the minute, so that the ledger does not time the scans. Nothing depends on the clock.
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%MZ")
