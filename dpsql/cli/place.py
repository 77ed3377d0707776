"""Where is the ledger that a command is about?"""

from __future__ import annotations

from pathlib import Path

from dpsql.cli import failure


def ledger_location(policy: Path | None, ledger: str | None) -> str:
    """The path of the ledger: as given, else where the policy says.

    Raises:
        InterfaceError: DP903 when neither is given.
        PolicyError: when the policy is not valid.
    """
    if ledger is not None:
        return ledger
    if policy is None:
        raise failure.usage("No ledger is given.", "Give --ledger PATH, or --policy FILE to find it.")
    from dpsql.policy import load

    return load(policy).ledger_location()
