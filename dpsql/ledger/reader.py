"""What does the ledger say? Reading it, for people and for audits; needs no policy and writes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from dpsql.accounting.event import Event
from dpsql.ledger import index
from dpsql.ledger.account import AccountState, account_state
from dpsql.ledger.audit import Finding, audit_store
from dpsql.ledger.chain import GENESIS, Anchor
from dpsql.ledger.damage import broken
from dpsql.ledger.entry import Charged, Numbered
from dpsql.ledger.log import first_break, read_entries, read_entry
from dpsql.ledger.spending import Spending, read_spending
from dpsql.ledger.store import Store, open_store


class LedgerReader:
    """A ledger to look at."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def head(self) -> Anchor:
        """Number and hash of the last entry: kept elsewhere, it shows a rollback to `verify`."""
        with self._store.reading():
            last = self._store.last()
        return Anchor(0, GENESIS) if last is None else Anchor(last.sequence, last.hash)

    def accounts(self) -> tuple[AccountState, ...]:
        """Every account: its budget, what is left of each rule, and how many more queries like the last."""
        with self._store.reading():
            standings = index.read_standings(self._store)
            last = {name: self._last_event(name, standing) for name, standing in standings.items()}
        return tuple(account_state(standing.account, last[name]) for name, standing in standings.items())

    def entries(self) -> Iterator[Numbered]:
        """All entries, oldest first."""
        return read_entries(self._store)

    def spending(self) -> dict[str, Spending]:
        """What each account was charged so far, by its name; reads every entry."""
        return read_spending(self.entries())

    def first_break(self) -> int | None:
        """The number of the first entry that the chain does not hold, or None; quicker than `verify`."""
        return first_break(self._store)

    def failures(self, analyst: str) -> int:
        """Failed runs of an analyst since the owner last unlocked the name."""
        with self._store.reading():
            return index.read_failures(self._store, analyst)

    def verify(self, anchor: Anchor | None = None) -> tuple[Finding, ...]:
        """Replays all entries and reports on every check by name; `anchor` is a head kept elsewhere."""
        return audit_store(self._store, anchor)

    def close(self) -> None:
        """Gives the file back; a second call does nothing."""
        self._store.close()

    def _last_event(self, account: str, standing: index.Standing) -> Event | None:
        if standing.charged == 0:
            return None
        entry = read_entry(self._store, standing.charged).entry
        debits = entry.debits if isinstance(entry, Charged) else ()
        found = [debit.charge.event for debit in debits if debit.charge.account == account]
        if not found:
            raise broken(f"Entry {standing.charged} does not charge account {account!r}")
        return found[-1]


def open_reader(location: str | Path) -> LedgerReader:
    """The ledger at a path, to be read only.

    Raises:
        LedgerError: when it cannot be opened, or is not a ledger of a format this version knows.
    """
    return LedgerReader(open_store(location, read_only=True))
