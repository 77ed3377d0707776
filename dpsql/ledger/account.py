"""What does an account hold, under the budget it has now?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from dpsql.accounting.event import Approximate, Event, NonPrivate
from dpsql.accounting.filters import Portfolio
from dpsql.ledger.entry import Account, AccountSpec


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account as people see it.

    ``rules`` holds what remains of each live rule of the filter, as a fraction of its budget (1.0: untouched;
    empty: nothing is admitted any more). ``more`` is the number of further queries like the last one charged
    to the account, or None before the first.
    """

    account: str
    epsilon: Decimal
    delta: Decimal
    rules: dict[str, float]
    more: int | None


def reopen_account(spec: AccountSpec, charged: Iterable[Event]) -> Account:
    """The account as if it had had this budget from its first charge on.

    Every earlier charge is priced again by the new filter, in its order. When one does not fit, the account
    has no state and admits nothing.

    Raises:
        ValueError: when no filter can be opened at this budget.
    """
    state: Portfolio | None = Portfolio.open(spec.epsilon, spec.delta, slack_share=spec.slack_share)
    for event in charged:
        if state is None:
            break
        state = state.step(event)
    return Account(spec, state)


def all_spent(spec: AccountSpec) -> tuple[Event, ...]:
    """What stands for a lost history: all that the account could have admitted, as one black box.

    Whatever it admitted is (epsilon, delta)-DP with its own numbers. A budget that no event can tell stands
    as no privacy at all.
    """
    try:
        return (Approximate(spec.epsilon, spec.delta),)
    except ValueError:
        return (NonPrivate(),)


def account_state(account: Account, last: Event | None) -> AccountState:
    """The account as people see it; `last` is the event of its last charge."""
    spec, portfolio = account.spec, account.state
    if portfolio is None:
        return AccountState(spec.account, spec.epsilon, spec.delta, {}, 0)
    more = None if last is None else portfolio.more(last)
    return AccountState(spec.account, spec.epsilon, spec.delta, portfolio.rules(), more)
