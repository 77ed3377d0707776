"""How much has each account lost so far? Statements that hold whenever one looks, from the entries alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from math import isfinite, log
from typing import Final

from dpsql.accounting.conversion import rho_for
from dpsql.accounting.event import Event
from dpsql.accounting.odometers import Milestone, Odometer, milestones
from dpsql.accounting.rounding import EXACT, float_down, float_up
from dpsql.ledger.account import all_spent
from dpsql.ledger.damage import broken
from dpsql.ledger.entry import AccountSpec, Charged, Numbered, Opened, PolicyChanged, Restored

_LARGEST_DELTA: Final = 0.5  # above it a bound on the loss means nothing


@dataclass(frozen=True, slots=True)
class Spending:
    """What an account was charged from its first charge on, whatever its budget has been since.

    `epsilon` and `delta` are sums over all charges; `epsilon` is None once an event had none. `loss` bounds
    the privacy loss, in nats, at all times at once except with probability `loss_delta`; it is None where a
    noise with tails meets an account without delta.

    `milestone` is the next one ahead: everything released before it is (its epsilon, delta of the first
    budget)-DP. None where the account has none, or all are behind.
    """

    account: str
    charges: int
    epsilon: Decimal | None
    delta: Decimal
    loss: float | None
    loss_delta: Decimal
    milestone: Milestone | None
    milestone_delta: Decimal


@dataclass(frozen=True, slots=True)
class Meter:
    """The odometer of one account.

    Invariant: its spread and its milestones were chosen before the account's first charge.
    """

    first: AccountSpec
    charges: int
    odometer: Odometer
    anytime: bool
    milestones: tuple[Milestone, ...]

    @staticmethod
    def start(first: AccountSpec) -> Meter:
        """The odometer of an account that is opened with this budget.

        Its spread follows from the first budget: one chosen after the first answer would be no bound.
        """
        delta = float_down(first.delta)
        rho = rho_for(float_down(first.epsilon), delta) if 0.0 < delta < _LARGEST_DELTA else 0.0
        odometer = Odometer(delta, -log(delta) / rho) if rho > 0.0 else Odometer(_LARGEST_DELTA, 1.0)
        return Meter(first, 0, odometer, rho > 0.0, _milestones(first) if rho > 0.0 else ())

    def step(self, event: Event) -> Meter:
        """The odometer after a charge."""
        return replace(self, charges=self.charges + 1, odometer=self.odometer.step(event))

    def lose(self, last: AccountSpec) -> Meter:
        """The odometer after a history was lost that this budget admitted: all of it counts as charged."""
        odometer = Meter.start(self.first).odometer
        for event in all_spent(last):
            odometer = odometer.step(event)
        return replace(self, odometer=odometer)

    @property
    def touched(self) -> bool:
        """Whether anything was charged."""
        return self.charges > 0 or self.odometer != Meter.start(self.first).odometer

    def read(self) -> Spending:
        """What it shows."""
        totals = self.odometer
        bound: float | None
        if self.anytime and isfinite(totals.rho):
            bound, may_fail = totals.loss(), EXACT.add(self.first.delta, totals.spent_delta)
        else:
            bound = None if totals.epsilon is None else float_up(totals.epsilon)
            may_fail = totals.spent_delta
        return Spending(
            account=self.first.account,
            charges=self.charges,
            epsilon=totals.epsilon,
            delta=totals.spent_delta,
            loss=bound,
            loss_delta=may_fail,
            milestone=self._ahead(),
            milestone_delta=self.first.delta,
        )

    def _ahead(self) -> Milestone | None:
        """The next milestone; the slack that its statement allows for must have lasted, too."""
        if self.odometer.spent_delta > _slack(self.first):
            return None
        return next((each for each in self.milestones if self.odometer.rho <= each.rho), None)


def _slack(first: AccountSpec) -> Decimal:
    return EXACT.multiply(first.delta, first.slack_share)


def _milestones(first: AccountSpec) -> tuple[Milestone, ...]:
    conversion = EXACT.subtract(first.delta, _slack(first))
    return milestones(float_down(first.epsilon), float_down(conversion)) if conversion else ()


def read_spending(entries: Iterable[Numbered]) -> dict[str, Spending]:
    """What each account was charged, by its name; an account without a charge is left out.

    Raises:
        LedgerError: an entry charges an account that no earlier one opens.
    """
    meters: dict[str, Meter] = {}
    for numbered in entries:
        match numbered.entry:
            case Opened(accounts=accounts) | PolicyChanged(accounts=accounts):
                for account in accounts:
                    name = account.spec.account
                    meters[name] = meters.get(name) or Meter.start(account.spec)
            case Charged(debits=debits):
                for debit in debits:
                    name = debit.charge.account
                    if name not in meters:
                        raise broken(f"Entry {numbered.sequence} charges {name!r}, which was never opened")
                    meters[name] = meters[name].step(debit.charge.event)
            case Restored(lost=lost, accounts=accounts) if lost != 0:
                for account in accounts:
                    meters[account.spec.account] = meters[account.spec.account].lose(account.spec)
            case _:
                pass
    return {name: meter.read() for name, meter in meters.items() if meter.touched}
