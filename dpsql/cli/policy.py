"""`dpsql policy`: is the promise in order, which keys has it, and does a change of it come into force?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from dpsql import errors
from dpsql.cli import failure, format, option
from dpsql.cli.question import policy_path
from dpsql.errors import PolicyError

if TYPE_CHECKING:
    from dpsql.ledger import AccountSpec
    from dpsql.policy import Policy

FILE: Final = click.argument("file", required=False, type=click.Path(path_type=Path))
_ACCOUNT: Final = ("account", "epsilon", "delta")


@click.group()
def policy() -> None:
    """Check the owner's promise, put it in force."""


@policy.command()
@FILE
@option.options(option.POLICY, option.FORMAT)
def check(file: Path | None, policy: Path | None, form: str) -> None:
    """Report every fault of a policy file.

    Also what the owner should know although nothing is wrong, whether the source has its tables,
    and how many units break a promise of the policy that dpsql then enforces; these counts are exact.
    FILE is the policy file; without it, --policy or DPSQL_POLICY.
    """
    from dpsql.policy import load
    from dpsql.session import account_specs, exceeded_promises

    path = policy_path(file or policy)
    promise = load(path)
    found = promise.source_path.exists()
    exceeded = exceeded_promises(promise) if found else ()
    specs = account_specs(promise)
    if form == format.TABLE:
        from dpsql.cli import screen

        screen.write(screen.table(_accounts(specs)))
    else:
        click.echo(
            format.written(_accounts(specs), _document(promise, specs, found, exceeded), form), nl=False
        )
    for notice in promise.notices:
        failure.say(f"note: {notice}")
    for promised in exceeded:
        failure.say(f"data, exact and not for analysts: {promised}")
    failure.say(_verdict(path, promise, found))


@policy.command()
def schema() -> None:
    """Print the JSON schema of policy files, for editors."""
    from dpsql.policy.schema import schema as policy_schema

    click.echo(json.dumps(policy_schema(), indent=2))


@policy.command()
@FILE
@option.options(option.POLICY, option.LEDGER)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_context
def accept(ctx: click.Context, file: Path | None, policy: Path | None, ledger: str | None, yes: bool) -> None:
    """Put a changed policy in force.

    Shows what changed, asks, and writes an entry to the ledger. What was spent stays spent.
    FILE is the policy file; without it, --policy or DPSQL_POLICY.
    """
    from dpsql.policy import load
    from dpsql.session import accept_policy, public_facts

    promise = load(policy_path(file or policy))
    facts = public_facts(promise)
    location = ledger or promise.ledger_location()
    new = "://" not in location and not Path(location).exists()
    change = _change(promise, facts, ledger)
    if new:
        failure.say(f"There was no ledger. {location} is opened, with this policy in force.")
        return
    if change is None:
        failure.say("The policy is the one in force; nothing was written.")
        return
    failure.say(change)
    if not yes and not _confirmed():
        failure.say("Nothing was written.")
        ctx.exit(failure.INTERRUPTED)
    accept_policy(promise, facts, ledger).close()
    failure.say("The policy is in force.")


def _confirmed() -> bool:
    """The owner's answer; an input without one, or an interrupt, is a no."""
    try:
        return click.confirm("Put it in force?", err=True)
    except click.Abort:
        failure.say("\nNobody answered; --yes does not ask.")
        return False


def _change(promise: Policy, facts: str, ledger: str | None) -> str | None:
    """How the policy differs from its ledger's, or None."""
    from dpsql.session import open_ledger

    try:
        open_ledger(promise, facts, ledger).close()
    except PolicyError as error:
        if error.code is not errors.POLICY_CHANGED:
            raise
        return error.message
    return None


def _accounts(specs: tuple[AccountSpec, ...]) -> format.Sheet:
    return format.listing(_ACCOUNT, [(spec.account, spec.epsilon, spec.delta) for spec in specs])


def _document(
    promise: Policy, specs: tuple[AccountSpec, ...], found: bool, exceeded: tuple[str, ...]
) -> dict[str, object]:
    return {
        "id": promise.id,
        "digest": promise.digest,
        "accounts": [{name: getattr(spec, name) for name in _ACCOUNT} for spec in specs],
        "notices": list(promise.notices),
        "source_checked": found,
        "exceeded": list(exceeded),
    }


def _verdict(path: Path, promise: Policy, found: bool) -> str:
    if found:
        return f"The policy {path} is valid, and its tables and columns are those of the source."
    return (
        f"The policy {path} is valid; its source {promise.source_path} is not there, so it was not compared."
    )
