"""What one account pays for one query."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from dpsql.accounting.event import Event


@dataclass(frozen=True, slots=True)
class Charge:
    """One account's price of one query.

    The ledger composes ``event``; ``epsilon`` and ``delta`` are the pair the event was calibrated to.
    ``account`` is ``table:<name>``, ``unit:<name>`` or ``analyst:<name>``.
    """

    account: str
    event: Event
    epsilon: Decimal
    delta: Decimal
