"""What follows from the entries? The values kept at hand so that a charge need not read the whole log.

One function, `apply`, is the index's only definition: the ledger calls it after each entry, the audit calls
it over all of them and compares. Nothing here is a source of truth.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol, TypeVar, assert_never

from dpsql.accounting.filters import Portfolio
from dpsql.ledger.chain import Anchor
from dpsql.ledger.damage import broken
from dpsql.ledger.entry import (
    Account,
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
    dumps,
    spec_from_dict,
    spec_to_dict,
)

HEAD: Final = "head"
POLICY: Final = "policy"
ACCOUNT: Final = "account"  # an account's budget
STATE: Final = "state"  # what its filter holds
RECEIPT: Final = "receipt"
REPLAY: Final = "replay"
KEY: Final = "key"
FAILURES: Final = "failures"
KINDS: Final = (HEAD, POLICY, ACCOUNT, STATE, RECEIPT, REPLAY, KEY, FAILURES)
SECRET: Final = "secret"  # noqa: S105 - the name of a kind; the one value that follows from no entry
ONLY: Final = ""  # the name of a kind that has one value


_T = TypeVar("_T")


class Values(Protocol):
    """The part of a store that holds the index.

    A value is put as the function that writes it: a replay overwrites most values before anybody reads them.
    """

    def has(self, kind: str, name: str) -> bool:
        """Whether there is such a value."""

    def get(self, kind: str, name: str) -> str | None:
        """One value."""

    def put(self, kind: str, name: str, write: Callable[[], str]) -> None:
        """Sets a value."""

    def drop(self, kind: str, name: str) -> None:
        """Removes a value."""

    def items(self, kind: str) -> dict[str, str]:
        """All values of a kind."""


class MemoryValues:
    """An index in memory, for a replay."""

    def __init__(self) -> None:
        self._kinds: dict[str, dict[str, Callable[[], str]]] = {kind: {} for kind in KINDS}

    def has(self, kind: str, name: str) -> bool:
        """Whether there is such a value."""
        return name in self._kinds[kind]

    def get(self, kind: str, name: str) -> str | None:
        """One value."""
        write = self._kinds[kind].get(name)
        return None if write is None else write()

    def put(self, kind: str, name: str, write: Callable[[], str]) -> None:
        """Sets a value."""
        self._kinds[kind][name] = write

    def drop(self, kind: str, name: str) -> None:
        """Removes a value."""
        self._kinds[kind].pop(name, None)

    def items(self, kind: str) -> dict[str, str]:
        """All values of a kind."""
        return {name: write() for name, write in self._kinds[kind].items()}


@dataclass(frozen=True, slots=True)
class CurrentPolicy:
    """The policy that charges are made under, as entry `sequence` put it in force."""

    policy_id: str
    policy_digest: str
    facts_digest: str
    sequence: int


@dataclass(frozen=True, slots=True)
class Standing:
    """An account as entry `sequence` left it; `charged` is the last entry that charged it, or 0."""

    account: Account
    sequence: int
    charged: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a receipt: `closed` is the entry of its answer (`released`) or failure, or None."""

    analyst: str
    replay_key: str
    key: str | None
    charged: int
    closed: int | None
    released: bool


def read_policy(values: Values) -> CurrentPolicy | None:
    """The current policy; None in an empty ledger."""
    text = values.get(POLICY, ONLY)
    return None if text is None else _read(text, lambda fields: CurrentPolicy(**fields))


def read_standings(values: Values) -> dict[str, Standing]:
    """Every account by name, as it stands."""
    return {name: _standing(spec, values.get(STATE, name)) for name, spec in values.items(ACCOUNT).items()}


def read_state(values: Values, account: str) -> Portfolio | None:
    """What an account's filter holds; None when it admits nothing any more.

    Raises:
        KeyError: when there is no such account.
    """
    text = values.get(STATE, account)
    if text is None:
        raise KeyError(account)
    return _read(text, lambda fields: _portfolio(fields["state"]))


def agrees(standing: Standing, entry: Entry) -> bool:
    """Whether the entry left the account as it stands."""
    match entry:
        case Opened() | PolicyChanged() | Restored():
            return standing.account in entry.accounts
        case Charged():
            account = standing.account
            left = [debit.after for debit in entry.debits if debit.charge.account == account.spec.account]
            return bool(left) and left[-1] == account.state
        case _:
            return False


def read_outcome(values: Values, receipt: str) -> Outcome | None:
    """What became of a receipt; None for an unknown one."""
    text = values.get(RECEIPT, receipt)
    return None if text is None else _read(text, lambda fields: Outcome(**fields))


def read_failures(values: Values, analyst: str) -> int:
    """Failed runs of an analyst since the last `Unlocked`."""
    text = values.get(FAILURES, analyst)
    return 0 if text is None else _read(text, int)


def apply(values: Values, numbered: Numbered) -> None:
    """Brings the index from the state before an entry to the state after it.

    Raises:
        KeyError: when the entry refers to a receipt or an account that no earlier entry made.
    """
    values.put(HEAD, ONLY, lambda: str(Anchor(numbered.sequence, numbered.hash)))
    _apply(values, numbered.sequence, numbered.entry)


def _apply(values: Values, sequence: int, entry: Entry) -> None:
    match entry:
        case Opened():
            policy = CurrentPolicy(entry.policy_id, entry.policy_digest, entry.facts_digest, sequence)
            _put_policy(values, policy)
            _put_accounts(values, sequence, entry.accounts)
        case PolicyChanged():
            before = read_policy(values)
            if before is None:
                raise KeyError(POLICY)
            policy = CurrentPolicy(before.policy_id, entry.policy_digest, entry.facts_digest, sequence)
            _put_policy(values, policy)
            _put_accounts(values, sequence, entry.accounts)
        case Restored():
            _put_accounts(values, sequence, entry.accounts)
        case Charged():
            _put_charge(values, sequence, entry)
        case Released(receipt):
            outcome = _close(values, receipt, sequence, released=True)
            values.put(REPLAY, outcome.replay_key, lambda: receipt)
        case Failed(receipt):
            outcome = _close(values, receipt, sequence, released=False)
            failures = read_failures(values, outcome.analyst) + 1
            values.put(FAILURES, outcome.analyst, lambda: str(failures))
        case Unlocked(analyst):
            values.drop(FAILURES, analyst)
        case _:
            assert_never(entry)


def _put_policy(values: Values, policy: CurrentPolicy) -> None:
    values.put(POLICY, ONLY, partial(_dumps, policy))


def _put_accounts(values: Values, sequence: int, accounts: tuple[Account, ...]) -> None:
    charged = {name: standing.charged for name, standing in read_standings(values).items()}
    for name in charged:
        values.drop(ACCOUNT, name)
        values.drop(STATE, name)
    for account in accounts:
        name = account.spec.account
        values.put(ACCOUNT, name, partial(_dumps_spec, account.spec))
        _put_state(values, name, account.state, sequence, charged.get(name, 0))


def _put_charge(values: Values, sequence: int, entry: Charged) -> None:
    for debit in entry.debits:
        if not values.has(STATE, debit.charge.account):
            raise KeyError(debit.charge.account)
        _put_state(values, debit.charge.account, debit.after, sequence, sequence)
    outcome = Outcome(entry.analyst, entry.replay_key, entry.key, sequence, closed=None, released=False)
    values.put(RECEIPT, entry.receipt, partial(_dumps, outcome))
    if entry.key is not None:
        values.put(KEY, entry.key, lambda: entry.receipt)


def _dumps(value: CurrentPolicy | Outcome) -> str:
    return dumps({name: getattr(value, name) for name in value.__slots__})


def _put_state(values: Values, name: str, state: Portfolio | None, sequence: int, charged: int) -> None:
    values.put(STATE, name, partial(_dumps_state, state, sequence, charged))


def _dumps_spec(spec: AccountSpec) -> str:
    return dumps(spec_to_dict(spec))


def _dumps_state(state: Portfolio | None, sequence: int, charged: int) -> str:
    held = None if state is None else state.to_dict()
    return dumps({"state": held, "sequence": sequence, "charged": charged})


def _standing(spec: str, text: str | None) -> Standing:
    if text is None:
        raise broken("An account has no stored state")
    budget = _read(spec, spec_from_dict)
    return _read(
        text,
        lambda fields: Standing(
            Account(budget, _portfolio(fields["state"])), int(fields["sequence"]), int(fields["charged"])
        ),
    )


def _read(text: str, build: Callable[[Any], _T]) -> _T:
    try:
        return build(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise broken("A value of its index cannot be read") from error


def _portfolio(held: dict[str, object] | None) -> Portfolio | None:
    return None if held is None else Portfolio.from_dict(held)


def _close(values: Values, receipt: str, sequence: int, *, released: bool) -> Outcome:
    before = read_outcome(values, receipt)
    if before is None or before.closed is not None:
        raise KeyError(receipt)
    outcome = Outcome(before.analyst, before.replay_key, before.key, before.charged, sequence, released)
    values.put(RECEIPT, receipt, partial(_dumps, outcome))
    return outcome
