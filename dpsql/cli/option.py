"""Which options do commands share?"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Final, TypeAlias

import click

from dpsql.cli.format import FORMATS

Command: TypeAlias = Callable[..., None]
Decorator: TypeAlias = Callable[[Command], Command]


def number(text: str) -> Decimal:
    """A finite decimal number; whether it is a sound price is for the planner to say.

    Raises:
        BadParameter: when the text is none.
    """
    try:
        value = Decimal(text)
    except ArithmeticError:
        raise click.BadParameter(f"{text!r} is not a number.") from None
    if not value.is_finite():
        raise click.BadParameter(f"{text!r} is not a finite number.")
    return value


POLICY: Final = click.option(
    "--policy",
    "-p",
    type=click.Path(path_type=Path),
    envvar="DPSQL_POLICY",
    show_envvar=True,
    help="The policy file.",
)
LEDGER: Final = click.option(
    "--ledger",
    "-l",
    metavar="PATH",
    envvar="DPSQL_LEDGER",
    show_envvar=True,
    help="The ledger, if not where the policy says; ':memory:' forgets it at the end.",
)
ANALYST: Final = click.option(
    "--analyst",
    "-a",
    metavar="NAME",
    envvar="DPSQL_ANALYST",
    show_envvar=True,
    help="Who asks; not authenticated. Default: the only name that the policy lists.",
)
EPSILON: Final = click.option(
    "--epsilon", "-e", type=number, help="What the query may cost. Default: the policy's per_query."
)
DELTA: Final = click.option("--delta", "-d", type=number, help="Likewise.")
ERROR: Final = click.option(
    "--error",
    multiple=True,
    metavar="±N",
    help="Instead of --epsilon, the 95 % half-width that is wanted: '±50', '5% of 400', or"
    " 'column=±50', which can be repeated.",
)
PARAMETER: Final = click.option(
    "--param",
    multiple=True,
    metavar="VALUE",
    help="The value of the next ? in the SQL: a number, a date (2024-01-31), true, false, null, else a"
    " text; quotes make it a text: --param \"'42'\".",
)
FILE: Final = click.option(
    "--file",
    "-f",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file that holds the SQL, instead of the argument.",
)
FORMAT: Final = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="table",
    show_default=True,
    help="How stdout is written.",
)
KEY: Final = click.option(
    "--key", metavar="TEXT", help="Idempotency key: a retry with the same key repeats the stored answer."
)


def options(*chosen: Decorator) -> Decorator:
    """Several options as one decorator, in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(chosen):
            command = option(command)
        return command

    return decorate
