"""`dpsql budget`: what is left, and what is spent?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import click

from dpsql.cli import format, option
from dpsql.cli.place import ledger_location

if TYPE_CHECKING:
    from dpsql.ledger import AccountState, Spending

Spent: TypeAlias = "Mapping[str, Spending]"

_FIELDS: Final = ("account", "epsilon", "delta", "rules", "more")
_SPENT: Final = ("charges", "epsilon", "delta", "loss", "loss_delta")
_COLUMNS: Final = (*_SPENT, "milestone", "milestone_delta")
_QUOTA: Final = "analyst:"


@click.command()
@option.options(option.POLICY, option.LEDGER, option.FORMAT)
def budget(policy: Path | None, ledger: str | None, form: str) -> None:
    """Show what is left of every account.

    That is: of each rule of its filter, and how many more queries like its last one fit. A query
    passes as long as one rule has room for it. "So far" is a bound on the loss until now that holds whenever
    one looks. Reads the ledger only, never the data.
    """
    accounts, spent = _accounts(policy, ledger)
    if form == format.TABLE:
        from dpsql.cli import screen

        terminal = screen.console()
        screen.write(screen.budget(accounts, terminal, spent=spent), terminal=terminal)
    else:
        click.echo(format.written(_sheet(accounts, spent), _document(accounts, spent), form), nl=False)


def _accounts(policy: Path | None, ledger: str | None) -> tuple[tuple[AccountState, ...], Spent]:
    from dpsql.ledger import open_reader

    location = ledger_location(policy, ledger)
    if policy is not None and not Path(location).exists():
        return _untouched(policy), {}
    with open_reader(location) as reader:
        accounts, spent = in_order(reader.accounts()), reader.spending()
    # An analyst's account is a quota: what it has spent bounds nobody's loss.
    return accounts, {name: each for name, each in spent.items() if not name.startswith(_QUOTA)}


def _untouched(policy: Path) -> tuple[AccountState, ...]:
    """The accounts of a policy whose ledger does not exist yet."""
    from dpsql.policy import load
    from dpsql.session import open_ledger

    with open_ledger(load(policy), "", ":memory:") as opened:
        return in_order(opened.accounts())


def in_order(accounts: tuple[AccountState, ...]) -> tuple[AccountState, ...]:
    """The privacy unit first, then tables, then analysts: from what is promised to mere quotas."""
    kinds = ("unit", "table", "analyst")
    return tuple(sorted(accounts, key=lambda each: kinds.index(each.account.partition(":")[0])))


def _document(accounts: tuple[AccountState, ...], spent: Spent) -> list[dict[str, object]]:
    return [
        {**{name: getattr(account, name) for name in _FIELDS}, "spent": _so_far(spent.get(account.account))}
        for account in accounts
    ]


def _so_far(spending: Spending | None) -> dict[str, object] | None:
    if spending is None:
        return None
    ahead = spending.milestone
    found: dict[str, object] = {name: getattr(spending, name) for name in _SPENT}
    return found | {
        "milestone": None if ahead is None else ahead.epsilon,
        "milestone_delta": spending.milestone_delta,
    }


def _sheet(accounts: tuple[AccountState, ...], spent: Spent) -> format.Sheet:
    rules = tuple(dict.fromkeys(rule for account in accounts for rule in account.rules))
    rows = []
    for a in accounts:
        so_far = _so_far(spent.get(a.account)) or dict.fromkeys(_COLUMNS)
        left = (a.account, a.epsilon, a.delta, *(a.rules.get(rule) for rule in rules), a.more)
        rows.append((*left, *so_far.values()))
    names = ("account", "epsilon", "delta", *rules, "more", *(f"spent_{name}" for name in _COLUMNS))
    return format.listing(names, rows)
