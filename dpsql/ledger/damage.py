"""What is said when a ledger does not hold together?"""

from __future__ import annotations

from dpsql import errors


def broken(what: str) -> errors.LedgerError:
    """The error of a ledger that does not hold together; `what` is a sentence without its full stop."""
    return errors.LedgerError(
        errors.LEDGER_BROKEN,
        f"The ledger does not verify. {what}.",
        hint="Run `dpsql ledger verify`. A restored file must be the newest: an older one forgets charges.",
    )
