"""`dpsql budget`: what is left?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpsql.cli import format, option
from dpsql.cli.place import ledger_location

if TYPE_CHECKING:
    from dpsql.ledger import AccountState

_FIELDS = ("account", "epsilon", "delta", "rules", "more")


@click.command()
@option.options(option.POLICY, option.LEDGER, option.FORMAT)
def budget(policy: Path | None, ledger: str | None, form: str) -> None:
    """Show what is left of every account.

    That is: of each rule of its filter, and how many more queries like its last one fit. A query
    passes as long as one rule has room for it. Reads the ledger only, never the data.
    """
    accounts = _accounts(policy, ledger)
    if form == format.TABLE:
        from dpsql.cli import screen

        terminal = screen.console()
        screen.write(screen.budget(accounts, terminal), terminal=terminal)
    else:
        click.echo(format.written(_sheet(accounts), _document(accounts), form), nl=False)


def _accounts(policy: Path | None, ledger: str | None) -> tuple[AccountState, ...]:
    from dpsql.ledger import open_reader

    location = ledger_location(policy, ledger)
    if policy is not None and not Path(location).exists():
        return _untouched(policy)
    with open_reader(location) as reader:
        return in_order(reader.accounts())


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


def _document(accounts: tuple[AccountState, ...]) -> list[dict[str, object]]:
    return [{name: getattr(account, name) for name in _FIELDS} for account in accounts]


def _sheet(accounts: tuple[AccountState, ...]) -> format.Sheet:
    rules = tuple(dict.fromkeys(rule for account in accounts for rule in account.rules))
    rows = [(a.account, a.epsilon, a.delta, *(a.rules.get(rule) for rule in rules), a.more) for a in accounts]
    return format.listing(("account", "epsilon", "delta", *rules, "more"), rows)
