"""Is this the policy that the ledger was opened with, and what does a change of it do to the accounts?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from dpsql import errors
from dpsql.accounting.event import Event
from dpsql.ledger import index
from dpsql.ledger.account import all_spent, reopen_account
from dpsql.ledger.entry import Account, AccountSpec, Charged, Numbered, Opened, PolicyChanged, Restored

UNIT: Final = "unit:"
Describe = Callable[[str], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Terms:
    """The policy of a session, as far as the ledger knows it.

    `describe` turns the ledger's own policy text into the lines that tell how this policy differs from it.
    """

    policy_id: str
    policy_digest: str
    policy_text: str
    facts_digest: str
    accounts: tuple[AccountSpec, ...]
    describe: Describe | None = field(default=None, compare=False)


def opened(terms: Terms, key_digest: str) -> Opened:
    """The first entry of a ledger.

    Raises:
        PolicyError: when an account cannot be opened at its budget.
    """
    accounts = tuple(_opened_account(spec) for spec in terms.accounts)
    return Opened(
        policy_id=terms.policy_id,
        policy_digest=terms.policy_digest,
        policy_text=terms.policy_text,
        facts_digest=terms.facts_digest,
        accounts=accounts,
        key_digest=key_digest,
    )


def refuse_foreign(terms: Terms, policy: index.CurrentPolicy) -> None:
    """Raises LedgerError unless the ledger belongs to the policy's id."""
    if policy.policy_id != terms.policy_id:
        raise errors.LedgerError(
            errors.LEDGER_FOREIGN,
            f"The ledger belongs to policy {policy.policy_id!r}, not to {terms.policy_id!r}.",
            hint="Give this policy a ledger of its own.",
        )


def differs(terms: Terms, policy: index.CurrentPolicy, standings: Iterable[index.Standing]) -> bool:
    """Whether the session's policy, public facts or budgets are other than the ledger's."""
    specs = {standing.account.spec for standing in standings}
    return (
        policy.policy_digest != terms.policy_digest
        or policy.facts_digest != terms.facts_digest
        or specs != set(terms.accounts)
    )


def refuse_change(terms: Terms, policy: index.CurrentPolicy, text: str) -> errors.PolicyError:
    """The error that tells how the session's policy differs from the ledger's."""
    return errors.PolicyError(
        errors.POLICY_CHANGED,
        "\n      - ".join(
            ["The policy differs from the one of the ledger:", *_differences(terms, policy, text)]
        ),
        hint="If the change is meant, the data owner runs `dpsql policy accept`.",
    )


def changed(terms: Terms, standings: Iterable[index.Standing], log: Iterable[Numbered]) -> PolicyChanged:
    """The entry that puts a policy in force: its accounts, priced again where their budget is another.

    Raises:
        PolicyError: when the privacy unit's account would be left behind, or a budget is impossible.
    """
    before = {standing.account.spec.account: standing.account for standing in standings}
    _keep_unit(before, terms)
    again = {spec.account for spec in terms.accounts if _unlike(before.get(spec.account), spec)}
    spent = _charged_events(log, again)
    accounts = tuple(
        _reopened_account(spec, spent[spec.account]) if spec.account in again else before[spec.account]
        for spec in terms.accounts
    )
    return PolicyChanged(terms.policy_digest, terms.policy_text, terms.facts_digest, accounts)


def _differences(terms: Terms, policy: index.CurrentPolicy, text: str) -> tuple[str, ...]:
    if policy.policy_digest != terms.policy_digest:
        lines = () if terms.describe is None else terms.describe(text)
        return lines or ("its digest is another.",)
    if policy.facts_digest != terms.facts_digest:
        return (
            "the public facts of the source (public tables, constraints) are not those that were pinned.",
        )
    return ("the accounts and budgets that follow from it are others.",)


def _keep_unit(before: dict[str, Account], terms: Terms) -> None:
    # An account under a new name starts unspent: the unit's promise would begin again.
    kept = {spec.account for spec in terms.accounts}
    gone = sorted(name for name in before if name.startswith(UNIT) and name not in kept)
    if gone:
        raise errors.PolicyError(
            errors.POLICY_CHANGED,
            f"The new policy has no account {gone[0]!r}: what its people have spent would be forgotten.",
            hint="Keep the name of the privacy unit.",
        )


def _unlike(account: Account | None, spec: AccountSpec) -> bool:
    return account is None or account.spec != spec


def _charged_events(log: Iterable[Numbered], accounts: set[str]) -> dict[str, list[Event]]:
    spent: dict[str, list[Event]] = {account: [] for account in accounts}
    if not accounts:
        return spent
    for numbered in log:
        if isinstance(numbered.entry, Restored) and numbered.entry.lost != 0:
            specs = {account.spec.account: account.spec for account in numbered.entry.accounts}
            spent |= {name: list(all_spent(specs[name])) for name in accounts & specs.keys()}
        if isinstance(numbered.entry, Charged):
            for debit in numbered.entry.debits:
                if debit.charge.account in accounts:
                    spent[debit.charge.account].append(debit.charge.event)
    return spent


def _opened_account(spec: AccountSpec) -> Account:
    return _reopened_account(spec, ())


def _reopened_account(spec: AccountSpec, spent: Iterable[Event]) -> Account:
    try:
        return reopen_account(spec, spent)
    except ValueError as error:
        raise errors.PolicyError(
            errors.POLICY_INVALID,
            f"Account {spec.account!r} cannot have epsilon {spec.epsilon}, delta {spec.delta}.",
            hint=str(error),
        ) from error
