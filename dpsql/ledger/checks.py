"""Do the entries say what a ledger may say? One named check for each rule an auditor relies on.

Each check sees the entries in order and yields a sentence for each fault; none of them trusts the index.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Final, Protocol

from dpsql.accounting.event import Event
from dpsql.accounting.filters import Portfolio, check_open, check_step
from dpsql.accounting.loss import delta_of, epsilon_of
from dpsql.accounting.rounding import EXACT
from dpsql.ledger.account import all_spent, reopen_account
from dpsql.ledger.entry import (
    Account,
    Charged,
    Entry,
    Failed,
    Opened,
    PolicyChanged,
    Released,
    Restored,
    Unlocked,
)
from dpsql.ledger.terms import UNIT

_TOLERANCE: Final = 1e-6
"""By how much of its budget a re-priced history may differ: the sum of what libms differ in, with room."""


class Check(Protocol):
    """A rule over all entries."""

    @property
    def name(self) -> str:
        """What a report calls it."""

    def faults(self, entry: Entry) -> Iterator[str]:
        """What is wrong with the next entry."""


class Filters:
    """Every charge was within what its account's filter held, and left no more than the price allows.

    Prices are floats, so this is an inequality on the recorded states (`check_step`), not an equality.
    """

    name = "filters"

    def __init__(self) -> None:
        self._accounts: dict[str, Account] = {}
        self._spent: dict[str, list[Event]] = {}

    def faults(self, entry: Entry) -> Iterator[str]:
        """Compares each state with the one before it."""
        match entry:
            case Opened() | PolicyChanged():
                for account in entry.accounts:
                    if not self._follows(account):
                        yield f"account {account.spec.account!r} holds more than its charges leave"
                self._accounts = {account.spec.account: account for account in entry.accounts}
            case Restored():
                if set(entry.accounts) != self._restored(entry.lost):
                    yield "the accounts of a restored backup are not those that it left"
                self._accounts = {account.spec.account: account for account in entry.accounts}
            case Charged():
                for debit in entry.debits:
                    if not self._covered(debit.charge.account, debit.charge.event, debit.after):
                        yield f"account {debit.charge.account!r} does not cover the charge"
            case _:
                pass

    def _restored(self, lost: int | None) -> set[Account]:
        if lost == 0:
            return set(self._accounts.values())
        for name, account in self._accounts.items():
            self._spent[name] = list(all_spent(account.spec))
        return {Account(account.spec, None) for account in self._accounts.values()}

    def _covered(self, name: str, event: Event, after: Portfolio) -> bool:
        account = self._accounts.get(name)
        if account is None:
            return False
        self._spent.setdefault(name, []).append(event)
        self._accounts[name] = Account(account.spec, after)
        return account.state is not None and check_step(account.state, event, after)

    def _follows(self, account: Account) -> bool:
        spec, state = account.spec, account.state
        before = self._accounts.get(spec.account)
        if before is not None and before.spec == spec:
            return before.state == state
        if state is None:
            return True
        if (state.epsilon, state.delta, state.slack_share) != (spec.epsilon, spec.delta, spec.slack_share):
            return False
        spent = self._spent.get(spec.account)
        return check_open(state) if not spent else _no_more(state, reopen_account(spec, spent).state)


class Sums:
    """The exact sums: an account's slack and its `basic` rule are their budgets less all that was charged."""

    name = "sums"

    def __init__(self) -> None:
        self._epsilon: dict[str, Decimal | None] = {}
        self._delta: dict[str, Decimal] = {}

    def faults(self, entry: Entry) -> Iterator[str]:
        """Adds up the events of each account and compares with the recorded state."""
        match entry:
            case Restored() if entry.lost != 0:
                self._forget(entry)
            case Opened() | PolicyChanged() | Restored():
                for account in entry.accounts:
                    name, state = account.spec.account, account.state
                    if state is not None and not self._adds_up(name, state):
                        yield f"account {name!r} does not hold its budget less its charges"
            case Charged():
                for debit in entry.debits:
                    name = debit.charge.account
                    self._add(name, debit.charge.event)
                    if not self._adds_up(name, debit.after):
                        yield f"account {name!r} does not hold its budget less its charges"
            case _:
                pass

    def _forget(self, entry: Restored) -> None:
        for account in entry.accounts:
            name = account.spec.account
            self._epsilon[name], self._delta[name] = Decimal(0), Decimal(0)
            for event in all_spent(account.spec):
                self._add(name, event)

    def _add(self, name: str, event: Event) -> None:
        sofar, epsilon = self._epsilon.get(name, Decimal(0)), epsilon_of(event)
        self._epsilon[name] = None if sofar is None or epsilon is None else EXACT.add(sofar, epsilon)
        self._delta[name] = EXACT.add(self._delta.get(name, Decimal(0)), delta_of(event))

    def _adds_up(self, name: str, state: Portfolio) -> bool:
        slack = EXACT.multiply(state.delta, state.slack_share)
        if state.slack.rest < 0 or EXACT.add(state.slack.rest, self._delta.get(name, Decimal(0))) != slack:
            return False
        basic = [rule.rest for rule in state.live if rule.name == "basic"]
        spent = self._epsilon.get(name, Decimal(0))
        return not basic or (spent is not None and EXACT.subtract(state.epsilon, spent) == basic[0] >= 0)


class Releases:
    """Every answer and every failure has exactly one charge before it, and no charge has two of them."""

    name = "releases"

    def __init__(self) -> None:
        self._charged: set[str] = set()
        self._open: set[str] = set()

    def faults(self, entry: Entry) -> Iterator[str]:
        """Follows each receipt from its charge to its end."""
        match entry:
            case Charged(receipt):
                if receipt in self._charged:
                    yield f"receipt {receipt} was charged before"
                self._charged.add(receipt)
                self._open.add(receipt)
            case Released(receipt) | Failed(receipt):
                if receipt not in self._open:
                    yield f"receipt {receipt} was never charged, or was closed before"
                self._open.discard(receipt)
            case Opened() | PolicyChanged() | Unlocked() | Restored():
                pass


class Policies:
    """The ledger was opened once, every charge names the policy in force, and the privacy unit pays."""

    name = "policy"

    def __init__(self) -> None:
        self._digest: str | None = None
        self._units: frozenset[str] = frozenset()

    def faults(self, entry: Entry) -> Iterator[str]:
        """Follows the policy from entry to entry."""
        if (self._digest is None) != isinstance(entry, Opened):
            yield "a ledger has one opening, which is its first entry"
        match entry:
            case Opened() | PolicyChanged():
                yield from self._enter(entry)
            case Charged():
                if entry.policy_digest != self._digest:
                    yield "the charge was made under a policy that was not in force"
                charged = {debit.charge.account for debit in entry.debits}
                if not charged or (self._units and not self._units & charged):
                    yield "the charge leaves out the privacy unit's account"
            case _:
                pass

    def _enter(self, entry: Opened | PolicyChanged) -> Iterator[str]:
        self._digest = entry.policy_digest
        units = frozenset(a.spec.account for a in entry.accounts if a.spec.account.startswith(UNIT))
        if not self._units <= units:
            yield "the account of the privacy unit was left behind"
        self._units = units


def _no_more(state: Portfolio, replayed: Portfolio | None) -> bool:
    if state == replayed:
        return True
    if replayed is None:
        return False
    mine, given = state.rules(), replayed.rules()
    fits = all(rule in given and rest <= given[rule] + _TOLERANCE for rule, rest in mine.items())
    budgets = {rule.name: float(rule.budget) for rule in replayed.live}
    return fits and all(float(rule.budget) <= budgets[rule.name] * (1.0 + _TOLERANCE) for rule in state.live)
