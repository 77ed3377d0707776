"""Was this run paid for? A receipt is given by the ledger only and pays for one run."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, NoReturn, final

from dpsql import errors
from dpsql.ledger.entry import Charged
from dpsql.plan.charge import Charge

_ISSUER: Final = object()


@final
class Receipt:
    """Proof that a query's charge is durable. Invariant: one receipt, at most one scan.

    Attributes: ``id``, ``sequence`` and ``hash`` of the entry that charged it, ``charges`` per account, and
    the ``plan_digest`` of the one plan it pays for.
    """

    __slots__ = ("_lock", "_used", "charges", "hash", "id", "plan_digest", "sequence")

    id: Final[str]
    sequence: Final[int]
    hash: Final[str]
    charges: Final[tuple[Charge, ...]]
    plan_digest: Final[str]

    def __init__(self, issuer: object, sequence: int, hash: str, entry: Charged) -> None:
        if issuer is not _ISSUER:
            raise errors.InternalError(errors.RECEIPT, "Only the ledger gives receipts.")
        self.id = entry.receipt
        self.sequence = sequence
        self.hash = hash
        self.charges = tuple(debit.charge for debit in entry.debits)
        self.plan_digest = entry.plan_digest
        self._used = False
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"Receipt({self.id!r}, sequence={self.sequence})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("A receipt cannot be copied: it pays for one run.")

    def consume(self) -> None:
        """Uses the receipt up; to be called before the first private row is read.

        Raises:
            InternalError: when it was used before.
        """
        with self._lock:
            if self._used:
                raise errors.InternalError(errors.RECEIPT, f"Receipt {self.id} has paid for a run already.")
            self._used = True


@dataclass(frozen=True, slots=True)
class Stored:
    """An answer that left before; its receipt is used up, so it opens no scan."""

    answer: str
    receipt: Receipt


def issue(sequence: int, hash: str, entry: Charged) -> Receipt:
    """A receipt that pays for one run; for the ledger's own use, after the charge is durable."""
    return Receipt(_ISSUER, sequence, hash, entry)


def issue_used(sequence: int, hash: str, entry: Charged) -> Receipt:
    """The receipt of an answer that was released before."""
    receipt = issue(sequence, hash, entry)
    receipt.consume()
    return receipt
