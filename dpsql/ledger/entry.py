"""What is written down: one immutable record for each thing that happened to a budget.

An entry's meaning is frozen. Its canonical bytes are JSON with sorted keys and without floats (decimals as
text, floats as hexadecimal), so that they hash the same on every machine; docs/ledger-format.md lists them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias, assert_never

from dpsql.accounting import event as events
from dpsql.accounting.event import Event
from dpsql.accounting.filters import Portfolio
from dpsql.plan.charge import Charge

FORMAT: Final = 1
# What is written is built here and has no cycles; looking for them takes a fifth of the time.
_JSON: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False, check_circular=False)


@dataclass(frozen=True, slots=True)
class AccountSpec:
    """The budget of one account and the share of its delta set aside for thresholds."""

    account: str
    epsilon: Decimal
    delta: Decimal
    slack_share: Decimal


@dataclass(frozen=True, slots=True)
class Account:
    """An account's budget and what its filter holds; `state` is None when its charges exceed the budget."""

    spec: AccountSpec
    state: Portfolio | None


@dataclass(frozen=True, slots=True)
class Debit:
    """One account's charge and the state of its filter after it."""

    charge: Charge
    after: Portfolio


@dataclass(frozen=True, slots=True)
class Opened:
    """The ledger was created for a policy."""

    policy_id: str
    policy_digest: str
    policy_text: str
    facts_digest: str
    accounts: tuple[Account, ...]
    key_digest: str


@dataclass(frozen=True, slots=True)
class Charged:
    """A query was paid for, by every account it touches; rows may be read after this entry is durable."""

    receipt: str
    analyst: str
    statement: str
    policy_digest: str
    data_version: int
    plan_digest: str
    replay_key: str
    key: str | None
    debits: tuple[Debit, ...]


@dataclass(frozen=True, slots=True)
class Released:
    """The answer of a paid query, written before it left."""

    receipt: str
    answer: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A paid query whose run failed; the charge stays."""

    receipt: str


@dataclass(frozen=True, slots=True)
class PolicyChanged:
    """The data owner accepted another version of the policy; lists every account as it stands then."""

    policy_digest: str
    policy_text: str
    facts_digest: str
    accounts: tuple[Account, ...]


@dataclass(frozen=True, slots=True)
class Unlocked:
    """The data owner lets an analyst ask again after repeated failures."""

    analyst: str


@dataclass(frozen=True, slots=True)
class Restored:
    """The data owner put a backup in the ledger's place.

    `lost` entries had followed the backup's last one; 0: no charge among them; None: nobody knows. Unless it
    is 0, no account has a state: what was charged in the gap is unknown, so all of each budget is spent.
    """

    lost: int | None
    accounts: tuple[Account, ...]


Entry: TypeAlias = Opened | Charged | Released | Failed | PolicyChanged | Unlocked | Restored


@dataclass(frozen=True, slots=True)
class Numbered:
    """An entry at its place in the chain; `time` is UTC, rounded to the minute, and decides nothing."""

    sequence: int
    hash: str
    time: str
    entry: Entry


def dumps(value: object) -> str:
    """Canonical JSON; a float in it is a fault of the program."""
    return _JSON.encode(value)


def canonical(entry: Entry) -> bytes:
    """The bytes that are hashed and stored."""
    return dumps({"format": FORMAT, **_fields(entry)}).encode("ascii")


def parse(body: bytes) -> Entry:
    """The entry of canonical bytes.

    Raises:
        ValueError: when the bytes are not canonical, or of a format or kind this version does not know.
    """
    try:
        entry = _entry(json.loads(body))
    except (KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError("The entry does not have the fields of its kind.") from error
    if canonical(entry) != body:
        raise ValueError("The entry is not in canonical form.")
    return entry


def _fields(entry: Entry) -> dict[str, object]:
    match entry:
        case Opened():
            return {
                "kind": "opened",
                "policy_id": entry.policy_id,
                "policy_digest": entry.policy_digest,
                "policy_text": entry.policy_text,
                "facts_digest": entry.facts_digest,
                "accounts": [_account_to_dict(account) for account in entry.accounts],
                "key_digest": entry.key_digest,
            }
        case Charged():
            return _charged(entry)
        case Released():
            return {"kind": "released", "receipt": entry.receipt, "answer": entry.answer}
        case Failed():
            return {"kind": "failed", "receipt": entry.receipt}
        case PolicyChanged():
            return {
                "kind": "policy_changed",
                "policy_digest": entry.policy_digest,
                "policy_text": entry.policy_text,
                "facts_digest": entry.facts_digest,
                "accounts": [_account_to_dict(account) for account in entry.accounts],
            }
        case Unlocked():
            return {"kind": "unlocked", "analyst": entry.analyst}
        case Restored():
            return {
                "kind": "restored",
                "lost": entry.lost,
                "accounts": [_account_to_dict(account) for account in entry.accounts],
            }
        case _:
            assert_never(entry)


def _charged(entry: Charged) -> dict[str, object]:
    return {
        "kind": "charged",
        "receipt": entry.receipt,
        "analyst": entry.analyst,
        "statement": entry.statement,
        "policy_digest": entry.policy_digest,
        "data_version": entry.data_version,
        "plan_digest": entry.plan_digest,
        "replay_key": entry.replay_key,
        "key": entry.key,
        "debits": [_debit_to_dict(debit) for debit in entry.debits],
    }


def _debit_to_dict(debit: Debit) -> dict[str, object]:
    return {
        "account": debit.charge.account,
        "event": events.to_dict(debit.charge.event),
        "epsilon": events.decimal_text(debit.charge.epsilon),
        "delta": events.decimal_text(debit.charge.delta),
        "after": debit.after.to_dict(),
    }


def spec_to_dict(spec: AccountSpec) -> dict[str, object]:
    """The JSON-able form of a budget."""
    return {
        "account": spec.account,
        "epsilon": events.decimal_text(spec.epsilon),
        "delta": events.decimal_text(spec.delta),
        "slack_share": events.decimal_text(spec.slack_share),
    }


def spec_from_dict(fields: dict[str, Any]) -> AccountSpec:
    """The inverse of `spec_to_dict`."""
    return AccountSpec(
        account=_text(fields["account"]),
        epsilon=events.read_decimal(fields["epsilon"]),
        delta=events.read_decimal(fields["delta"]),
        slack_share=events.read_decimal(fields["slack_share"]),
    )


def _account_to_dict(account: Account) -> dict[str, object]:
    state = None if account.state is None else account.state.to_dict()
    return {**spec_to_dict(account.spec), "state": state}


def _account_from_dict(fields: dict[str, Any]) -> Account:
    state = fields["state"]
    return Account(spec_from_dict(fields), None if state is None else Portfolio.from_dict(state))


def _entry(fields: dict[str, Any]) -> Entry:
    if fields["format"] != FORMAT:
        raise ValueError("The entry has a format this version of dpsql does not know.")
    match fields["kind"]:
        case "opened":
            return Opened(
                policy_id=_text(fields["policy_id"]),
                policy_digest=_text(fields["policy_digest"]),
                policy_text=_text(fields["policy_text"]),
                facts_digest=_text(fields["facts_digest"]),
                accounts=tuple(_account_from_dict(account) for account in fields["accounts"]),
                key_digest=_text(fields["key_digest"]),
            )
        case "charged":
            return _charged_from_dict(fields)
        case "released":
            return Released(_text(fields["receipt"]), _text(fields["answer"]))
        case "failed":
            return Failed(_text(fields["receipt"]))
        case "policy_changed":
            return PolicyChanged(
                policy_digest=_text(fields["policy_digest"]),
                policy_text=_text(fields["policy_text"]),
                facts_digest=_text(fields["facts_digest"]),
                accounts=tuple(_account_from_dict(account) for account in fields["accounts"]),
            )
        case "unlocked":
            return Unlocked(_text(fields["analyst"]))
        case "restored":
            return Restored(
                lost=None if fields["lost"] is None else int(fields["lost"]),
                accounts=tuple(_account_from_dict(account) for account in fields["accounts"]),
            )
        case _:
            raise ValueError("The entry is of a kind this version of dpsql does not know.")


def _charged_from_dict(fields: dict[str, Any]) -> Charged:
    return Charged(
        receipt=_text(fields["receipt"]),
        analyst=_text(fields["analyst"]),
        statement=_text(fields["statement"]),
        policy_digest=_text(fields["policy_digest"]),
        data_version=int(fields["data_version"]),
        plan_digest=_text(fields["plan_digest"]),
        replay_key=_text(fields["replay_key"]),
        key=None if fields["key"] is None else _text(fields["key"]),
        debits=tuple(_debits(fields["debits"])),
    )


def _debits(several: list[dict[str, Any]]) -> Iterator[Debit]:
    # Most accounts of a query are charged the same event; it is read once for all of them in a row.
    source, event = None, None
    for fields in several:
        if event is None or fields["event"] != source:
            source, event = fields["event"], events.from_dict(fields["event"])
        yield _debit_from_dict(fields, event)


def _debit_from_dict(fields: dict[str, Any], event: Event) -> Debit:
    charge = Charge(
        account=_text(fields["account"]),
        event=event,
        epsilon=events.read_decimal(fields["epsilon"]),
        delta=events.read_decimal(fields["delta"]),
    )
    return Debit(charge, Portfolio.from_dict(fields["after"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("A text is expected.")
    return value
