"""Is this the newest state of the ledger? A head kept in a file elsewhere, renewed with every charge.

A ledger's own file cannot tell that an old copy of it was put back. The anchor can, before the first charge,
if those who can write the ledger cannot write the anchor.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from dpsql import errors
from dpsql.ledger.chain import Anchor
from dpsql.ledger.store import Store


class AnchorFile:
    """A file that holds the number and the hash of the newest charge. Invariant: the number never falls."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> Anchor | None:
        """The anchor; None when there is no file yet.

        Raises:
            LedgerError: when the file cannot be read or holds something else.
        """
        try:
            return Anchor.parse(self._path.read_text("ascii"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise errors.LedgerError(
                errors.LEDGER_STORE,
                f"The anchor file {str(self._path)!r} cannot be read or holds no anchor.",
                hint="Write the newest <sequence>:<hash> you know into it.",
            ) from error

    def check(self, store: Store) -> None:
        """Compares a ledger with the anchor; to be called inside a transaction.

        Raises:
            LedgerError: when the ledger does not hold the anchor's entry.
        """
        anchor = self.read()
        if anchor is None:
            return
        rows = store.rows(anchor.sequence - 1, 1)
        if not rows or Anchor(rows[0].sequence, rows[0].hash) != anchor:
            raise errors.LedgerError(
                errors.LEDGER_BROKEN,
                f"The ledger does not hold entry {anchor.sequence} of the anchor file {str(self._path)!r}:"
                " it is an old copy, or another ledger.",
                hint="Put the newest copy in its place, or let the data owner run `dpsql ledger restore`.",
            )

    def advance(self, store: Store) -> None:
        """Notes the ledger's head, durably, unless a later one is noted; takes a transaction of its own.

        Raises:
            LedgerError: when the file cannot be written, or the ledger does not hold what is noted.
        """
        # One writer of the ledger at a time is one writer of the anchor at a time.
        with store.writing():
            self.check(store)
            last, before = store.last(), self.read()
            if last is not None and (before is None or last.sequence > before.sequence):
                self.write(Anchor(last.sequence, last.hash))

    def write(self, anchor: Anchor) -> None:
        """Replaces the file at once or not at all.

        Raises:
            LedgerError: when it cannot be written.
        """
        draft = self._path.with_name(f"{self._path.name}.new")
        try:
            with draft.open("w", encoding="ascii") as file:
                file.write(f"{anchor}\n")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(self._path)
        except OSError as error:
            with suppress(OSError):
                draft.unlink()
            raise errors.LedgerError(
                errors.LEDGER_STORE,
                f"The anchor file {str(self._path)!r} cannot be written: {error.strerror}.",
                hint="Without it nothing is charged; give a path in a folder that can be written.",
            ) from error
