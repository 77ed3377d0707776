"""What is said when a ledger does not hold together?"""

from __future__ import annotations

import sqlite3

from dpsql import errors


def broken(what: str) -> errors.LedgerError:
    """The error of a ledger that does not hold together; `what` is a sentence without its full stop."""
    return errors.LedgerError(
        errors.LEDGER_BROKEN,
        f"The ledger does not verify. {what}.",
        hint="Run `dpsql ledger verify`. A restored file must be the newest: an older one forgets charges.",
    )


def unopened(error: errors.LedgerError) -> bool:
    """Whether the file is missing, locked or not to be read, which says nothing of what it holds."""
    # SQLite calls a damaged file a DatabaseError, and what the system refuses an OperationalError.
    return isinstance(error.__cause__, OSError | sqlite3.OperationalError)
