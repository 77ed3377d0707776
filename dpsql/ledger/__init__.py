"""What was spent: a durable, hash-chained, replayable record of every charge."""

from dpsql.ledger.account import AccountState
from dpsql.ledger.audit import Finding, audit
from dpsql.ledger.chain import Anchor
from dpsql.ledger.entry import (
    AccountSpec,
    Charged,
    Entry,
    Failed,
    Numbered,
    Opened,
    PolicyChanged,
    Released,
    Restored,
    Unlocked,
)
from dpsql.ledger.ledger import Ledger
from dpsql.ledger.reader import LedgerReader, open_reader
from dpsql.ledger.receipt import Receipt, Stored
from dpsql.ledger.spending import Spending

__all__ = [
    "AccountSpec",
    "AccountState",
    "Anchor",
    "Charged",
    "Entry",
    "Failed",
    "Finding",
    "Ledger",
    "LedgerReader",
    "Numbered",
    "Opened",
    "PolicyChanged",
    "Receipt",
    "Released",
    "Restored",
    "Spending",
    "Stored",
    "Unlocked",
    "audit",
    "open_reader",
]
