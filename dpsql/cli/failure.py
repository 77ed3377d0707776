"""How does a failure look on the terminal, and which exit code does it have?"""

from __future__ import annotations

import os
from typing import Final

import click

from dpsql import errors
from dpsql.errors import (
    BudgetExceeded,
    Error,
    InterfaceError,
    InternalError,
    NotSupportedError,
    PolicyError,
    Position,
    ProgrammingError,
    Remedy,
)

SQL: Final = 1
USAGE: Final = 2
BUDGET: Final = 3
REFUSED: Final = 4
OPERATION: Final = 5
NOT_VERIFIED: Final = 6
UNEXPECTED: Final = 70
INTERRUPTED: Final = 130
NO_READER: Final = 141

EXIT_CODES: Final[dict[int, str]] = {
    0: "done",
    SQL: "the SQL cannot be understood",
    USAGE: "the command line or the policy file is wrong",
    BUDGET: "an account has no room for the query",
    REFUSED: "the query is understood and refused",
    OPERATION: "the source, the ledger, the run or the output failed",
    NOT_VERIFIED: "the ledger does not verify",
    UNEXPECTED: "a fault of dpsql itself",
    INTERRUPTED: "interrupted, or a confirmation declined",
    NO_READER: "whoever read the output went away",
}

QUERY: Final = "dpsql.query"
"""Key of click's context under which a command leaves the query that a position points into."""

_BEFORE: Final = 60
_SHOWN: Final = 96


def exit_code(error: Error) -> int:
    """The exit code of an error: who can act on it decides."""
    match error:
        case _ if error.code is errors.LEDGER_BROKEN:
            return NOT_VERIFIED
        case _ if error.code.remedy is Remedy.PROGRAM and not isinstance(error, InternalError):
            return USAGE
        case PolicyError() | InterfaceError():
            return USAGE
        case BudgetExceeded():
            return BUDGET
        case NotSupportedError():
            return REFUSED
        case ProgrammingError():
            return SQL
        case _:
            return OPERATION


def show(error: Error, query: str | None) -> None:
    """Write an error to stderr, with the line of the query and a caret where it has a position."""
    head, *more = error.message.split("\n")
    lines = [f"{click.style(error.code.name, fg='red', bold=True)} {head}", *more]
    if error.position is not None:
        lines.append(f"      {error.position}")
        lines += _pointer(query, error.position)
    if error.hint is not None:
        lines.append(f"      {click.style('hint:', bold=True)} {error.hint}")
    say("\n".join(lines))


def say(text: str) -> None:
    """Write narration to stderr, without colours where they are not wanted."""
    click.echo(text, err=True, color=False if os.environ.get("NO_COLOR") else None)


def usage(message: str, hint: str | None = None) -> InterfaceError:
    """The error of arguments that do not go together."""
    return InterfaceError(errors.USAGE, message, hint=hint)


def _pointer(query: str | None, position: Position) -> list[str]:
    lines = [] if query is None else query.splitlines()
    if not 1 <= position.line <= len(lines):
        return []
    line = "".join(char if char.isprintable() else " " for char in lines[position.line - 1])
    start = max(0, position.column - 1 - _BEFORE) if len(line) > _SHOWN else 0
    caret = " " * (position.column - 1 - start) + "^"
    return [f"        {line[start : start + _SHOWN]}", f"        {click.style(caret, fg='red')}"]
