"""How is a ledger copied while it is in use, and how does a copy take its place again?

A backup that takes the ledger's place forgets what was charged since. Unless its last charge is known to be
the last one there was, all of every budget counts as spent: of the gap it is known only that no account
admitted more than its budget.
"""

from __future__ import annotations

import os
from pathlib import Path

from dpsql import errors
from dpsql.ledger import index
from dpsql.ledger.audit import audit_store
from dpsql.ledger.chain import GENESIS, Anchor
from dpsql.ledger.entry import Account, Charged, Restored
from dpsql.ledger.log import append, numbered, read_rows
from dpsql.ledger.store import SQLiteStore, Store, sync_folder


def back_up(location: str | Path, target: str | Path) -> Anchor:
    """Copies the ledger, in use or not, to a new file; returns the copy's head, to be kept elsewhere.

    The copy holds the ledger's secret and all its texts.

    Raises:
        LedgerError: when the ledger cannot be read, the target exists or the copy does not verify.
    """
    source = SQLiteStore(str(location), read_only=True)
    try:
        _copy(source, Path(target))
    finally:
        source.close()
    with_copy = SQLiteStore(str(target), read_only=True)
    try:
        return _verified(with_copy, str(target))
    finally:
        with_copy.close()


def gap(backup: str | Path, newest: Anchor | None) -> int | None:
    """How many entries a backup lacks of a ledger whose last charge was `newest` or before it.

    0 when it lacks no charge, None when that is unknown.

    Raises:
        LedgerError: when the backup does not verify, or `newest` belongs to another history.
    """
    store = SQLiteStore(str(backup), read_only=True)
    try:
        return _lost(store, _verified(store, str(backup)), newest)
    finally:
        store.close()


def restore(backup: str | Path, location: str | Path, newest: Anchor | None) -> Anchor:
    """Puts a backup in the ledger's place and records it; returns the new head. The owner's decision.

    Args:
        backup: a file that `back_up` wrote.
        location: where the ledger was; nothing may be there.
        newest: an entry of the lost ledger after which nothing was charged, to the owner's knowledge. If the
            backup holds it and no later charge, no charge is lost. None: not known.

    Raises:
        LedgerError: as `gap`, and when something is at the location.
    """
    lost = gap(backup, newest)
    draft = Path(f"{location}.restoring")
    _require_free(Path(location))
    source = SQLiteStore(str(backup), read_only=True)
    try:
        _copy(source, draft)
    finally:
        source.close()
    try:
        head = _record(str(draft), lost)
        _put(draft, Path(location))
    finally:
        draft.unlink()
    return head


def _record(path: str, lost: int | None) -> Anchor:
    store = SQLiteStore(path)
    try:
        with store.writing():
            before = [standing.account for standing in index.read_standings(store).values()]
            after = tuple(account if lost == 0 else Account(account.spec, None) for account in before)
            append(store, Restored(lost, after))
        return _verified(store, path)
    finally:
        store.close()


def _put(draft: Path, place: Path) -> None:
    if Path(f"{draft}-wal").exists():
        # Without what waits there the entry that closes the accounts would be missing.
        raise errors.LedgerError(errors.LEDGER_STORE, f"The file {str(draft)!r} is in use.")
    try:
        os.link(draft, place)
    except FileExistsError:
        raise _taken(place) from None
    except OSError as error:
        raise errors.LedgerError(
            errors.LEDGER_STORE, f"The backup cannot be put at {str(place)!r}: {error.strerror}."
        ) from error
    sync_folder(str(place.absolute().parent))


def _copy(source: SQLiteStore, target: Path) -> None:
    _require_free(target)
    try:
        source.copy_to(str(target))
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _verified(store: Store, path: str) -> Anchor:
    failed = sorted({finding.check for finding in audit_store(store) if not finding.ok})
    if failed:
        raise errors.LedgerError(
            errors.LEDGER_BROKEN,
            f"The ledger {path!r} does not verify: {', '.join(failed)}.",
            hint="Use another backup; `dpsql ledger verify` tells more.",
        )
    with store.reading():
        last = store.last()
    return Anchor(0, GENESIS) if last is None else Anchor(last.sequence, last.hash)


def _lost(store: Store, head: Anchor, newest: Anchor | None) -> int | None:
    if newest is None:
        return None
    if newest.sequence > head.sequence:
        return newest.sequence - head.sequence
    with store.reading():
        first, *later = list(read_rows(store))[newest.sequence - 1 :]
    if Anchor(first.sequence, first.hash) != newest:
        raise errors.LedgerError(
            errors.LEDGER_BROKEN,
            f"Entry {newest.sequence} of the backup is not the one of the anchor.",
            hint="The anchor or the backup is of another ledger.",
        )
    # A charge after the anchor shows that more was charged than the anchor knows of.
    return None if any(isinstance(numbered(row).entry, Charged) for row in later) else 0


def _require_free(path: Path) -> None:
    waiting = Path(f"{path}-wal")
    if path.exists() or (waiting.exists() and waiting.stat().st_size):
        raise _taken(path)


def _taken(path: Path) -> errors.LedgerError:
    return errors.LedgerError(
        errors.LEDGER_STORE,
        f"There is something at {str(path)!r} or in its side file (-wal).",
        hint="Move it away first; nothing is overwritten.",
    )
