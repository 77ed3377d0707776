"""What is asked: which SQL, with which parameters, at which price?"""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from dpsql.cli import failure, option
from dpsql.cli.parameter import read_parameter

if TYPE_CHECKING:
    from dpsql.session import Session, Terms
    from dpsql.sql.expression import Value

_STDIN: Final = "-"


@dataclass(frozen=True, slots=True)
class Question:
    """A query as the command line states it, and where it is to be asked."""

    sql: str
    parameters: tuple[Value, ...]
    terms: Terms
    policy: Path
    ledger: str | None
    analyst: str | None

    def session(self) -> Session:
        """A session to ask it in.

        Raises:
            PolicyError, PolicyRefused, OperationalError: as `Session.open`.
        """
        from dpsql.session import Session

        return Session.open(self.policy, self.ledger, self.analyst)


def asks(command: option.Command) -> option.Command:
    """Give a command the options of a query, and the `Question` they make as its first argument."""

    @functools.wraps(command)
    def asking(
        sql: str | None,
        file: Path | None,
        policy: Path | None,
        ledger: str | None,
        analyst: str | None,
        epsilon: Decimal | None,
        delta: Decimal | None,
        error: tuple[str, ...],
        param: tuple[str, ...],
        **others: Any,
    ) -> None:
        from dpsql.session import Terms

        text = _sql(sql, file)
        click.get_current_context().meta[failure.QUERY] = text
        if epsilon is not None and error:
            raise failure.usage("State an epsilon or an error, not both.")
        parameters = tuple(read_parameter(value) for value in param)
        terms = Terms(epsilon, delta, _wish(error))
        command(Question(text, parameters, terms, policy_path(policy), ledger, analyst), **others)

    return option.options(
        click.argument("sql", required=False),
        option.FILE,
        option.POLICY,
        option.LEDGER,
        option.ANALYST,
        option.EPSILON,
        option.DELTA,
        option.ERROR,
        option.PARAMETER,
        option.FORMAT,
    )(asking)


def policy_path(policy: Path | None) -> Path:
    """The policy that a command needs.

    Raises:
        InterfaceError: DP903 when none is given.
    """
    if policy is None:
        raise failure.usage("No policy is given.", "Give --policy FILE, or set DPSQL_POLICY.")
    return policy


def _sql(sql: str | None, file: Path | None) -> str:
    if (sql is None) == (file is None):
        raise failure.usage(
            "Give the SQL once: as the argument, as `-` for stdin, or with --file.",
            'For example: dpsql query "SELECT COUNT(*) FROM visits"',
        )
    text = _read(sql, file)
    if not text.isascii() and text != text.encode("utf-8", "replace").decode():
        raise failure.usage("The SQL is not a UTF-8 text.")
    return text


def _read(sql: str | None, file: Path | None) -> str:
    try:
        if file is not None:
            return file.read_text("utf-8-sig")
        if sql == _STDIN:
            return sys.stdin.buffer.read().decode("utf-8-sig")
    except OSError as error:
        raise failure.usage(f"The file {file} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise failure.usage("The SQL is not a UTF-8 text.") from error
    return sql or ""


def _wish(wanted: tuple[str, ...]) -> str | dict[str, str] | None:
    if not wanted:
        return None
    if len(wanted) == 1 and "=" not in wanted[0]:
        return wanted[0]
    named = [text.partition("=") for text in wanted]
    if not all(equals for _, equals, _ in named):
        raise failure.usage("Several errors need names.", "As in --error patients=±50 --error visits=±100")
    return {name.strip(): width.strip() for name, _, width in named}
