"""Was this run paid for? A receipt is given by the ledger only and pays for one run."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Final, NoReturn, final

from dpsql import errors
from dpsql.plan.charge import Charge

_ISSUER: Final = object()


@final
class Receipt:
    """Proof that a query's charge is durable. Invariant: one receipt, at most one scan.

    Attributes: ``id``, ``sequence`` and ``hash`` of the entry that charged it, ``charges`` per account.
    """

    __slots__ = ("_lock", "_used", "charges", "hash", "id", "sequence")

    id: Final[str]
    sequence: Final[int]
    hash: Final[str]
    charges: Final[tuple[Charge, ...]]

    def __init__(
        self,
        issuer: object,
        *,
        id: str,
        sequence: int,
        hash: str,
        charges: tuple[Charge, ...],
        used: bool,
    ) -> None:
        if issuer is not _ISSUER:
            raise errors.InternalError(errors.RECEIPT, "Only the ledger gives receipts.")
        self.id = id
        self.sequence = sequence
        self.hash = hash
        self.charges = charges
        self._used = used
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


def issue(*, id: str, sequence: int, hash: str, charges: tuple[Charge, ...]) -> Receipt:
    """A receipt that pays for one run; for the ledger's own use, after the charge is durable."""
    return Receipt(_ISSUER, id=id, sequence=sequence, hash=hash, charges=charges, used=False)


def used_up(*, id: str, sequence: int, hash: str, charges: tuple[Charge, ...]) -> Receipt:
    """The receipt of an answer that is already released."""
    return Receipt(_ISSUER, id=id, sequence=sequence, hash=hash, charges=charges, used=True)
