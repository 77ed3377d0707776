"""Which commands are there, and how does the program end?"""

from __future__ import annotations

import errno
import logging
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import click

import dpsql
from dpsql.cli import failure
from dpsql.cli.account import account
from dpsql.cli.budget import budget
from dpsql.cli.demo import demo
from dpsql.cli.ledger import ledger
from dpsql.cli.policy import policy
from dpsql.cli.query import explain, query
from dpsql.errors import Error

OPERATOR_LOG: Final = "dpsql.operator"
_UNWRITTEN: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_STILL_CHARGED: Final = "What was charged stays charged; the same query again repeats its answer for free."


class Program(click.Group):
    """A group whose every ending has an exit code of `failure.EXIT_CODES`, and none a traceback."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> NoReturn:
        """Run and leave the process; click's own endings would mix up the exit codes."""
        for stream in (sys.stdout, sys.stderr):
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                # A terminal that cannot show a character is no reason to fail after a charge.
                reconfigure(errors="backslashreplace")
        run = super().main
        sys.exit(
            _ended(lambda: run(args, prog_name or "dpsql", complete_var, standalone_mode=False, **extra))
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error of dpsql is shown with the query it is about."""
        try:
            code = super().invoke(ctx)
            sys.stdout.flush()
            return code
        except BrokenPipeError:
            # Python would flush stdout once more on its way out, and complain.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            ctx.exit(failure.NO_READER)
        except OSError as error:
            if error.errno not in _UNWRITTEN:
                raise
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            failure.say(f"The output cannot be written: {os.strerror(error.errno)}. {_STILL_CHARGED}")
            ctx.exit(failure.OPERATION)
        except Error as error:
            failure.show(error, ctx.meta.get(failure.QUERY))
            ctx.exit(failure.exit_code(error))


def _ended(run: Callable[[], object]) -> int:
    try:
        code = run()
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        failure.say("Interrupted. What was charged stays charged.")
        return failure.INTERRUPTED
    except Exception as error:
        # The text of an error that nobody foresaw could hold a value of the data.
        failure.say(
            f"dpsql failed ({type(error).__name__}), a fault of its own. Its text may hold data: not shown."
        )
        return failure.UNEXPECTED
    return code if isinstance(code, int) else 0


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(dpsql.__version__, prog_name="dpsql")
@click.option(
    "--log",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="DPSQL_LOG",
    help="The operator's log file; without it details of failed runs are dropped.",
)
@click.option(
    "--anchor-file",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="DPSQL_ANCHOR",
    help="A file, out of reach of who can write the ledger, for the newest charge: it shows a rollback.",
)
def program(log: Path | None, anchor_file: Path | None) -> None:
    """Noisy answers about personal data, priced before a row is read.

    Answers go to stdout, everything else to stderr. Start with `dpsql demo`.
    """
    if log is not None:
        _check_writable(log)
    if anchor_file is not None:
        # Sessions read it there: it belongs to the process, not to a policy or a query.
        os.environ["DPSQL_ANCHOR"] = str(anchor_file)
    operator = logging.getLogger(OPERATOR_LOG)
    # Without a handler Python prints such records on stderr, which is the analyst's.
    handler = logging.NullHandler() if log is None else logging.FileHandler(log, delay=True)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    operator.handlers[:] = [handler]
    operator.propagate = False


def _check_writable(log: Path) -> None:
    try:
        log.open("a").close()
    except OSError as error:
        raise failure.usage(
            f"The log {str(log)!r} cannot be written: {error.strerror}.",
            "Without it the reason of a failed run would be lost, so nothing was done.",
        ) from error


for _command in (demo, query, explain, budget, ledger, policy, account):
    program.add_command(_command)


def commands() -> Iterator[tuple[str, click.Command]]:
    """Every command by its full name, such as `ledger show`, groups before what is in them."""
    yield from _below("", program)


def _below(name: str, group: click.Group) -> Iterator[tuple[str, click.Command]]:
    for command in group.commands.values():
        full = f"{name} {command.name}".strip()
        yield full, command
        if isinstance(command, click.Group):
            yield from _below(full, command)


def main() -> NoReturn:
    """The entry point of `dpsql`."""
    program.main()
