"""`dpsql demo`: what does using dpsql look like?"""

from __future__ import annotations

import sys
from decimal import Decimal
from pathlib import Path
from shlex import quote
from shutil import which
from typing import TYPE_CHECKING, Final

import click

from dpsql.cli import failure, format, option
from dpsql.cli.budget import in_order
from dpsql.errors import Error

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

    from dpsql.session import Session, Terms

_ROOT: Final = Path(__file__).resolve().parents[2]
_POLICY: Final = Path("policies/clinic.yaml")

_QUESTIONS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "How many patients has each hospital, and how old are they?",
        "SELECT hospital, COUNT(*) AS patients, AVG(age) AS average_age\n"
        "FROM patients GROUP BY hospital ORDER BY hospital",
        "0.5",
    ),
    (
        "Where do people go, and what does a visit cost? One bill of 9 million is clipped to 1,000.",
        "SELECT department, COUNT(*) AS visits, AVG(LEAST(charge, 1000)) AS average_charge\n"
        "FROM visits GROUP BY department ORDER BY visits DESC",
        "1",
    ),
    (
        "Which diagnoses are there? Their names are private, so a rare one must not show.",
        "SELECT diagnosis, COUNT(*) AS patients\nFROM patients GROUP BY diagnosis ORDER BY patients DESC",
        "0.2",
    ),
)
_MARGIN: Final = 3
_REFUSED: Final = "SELECT * FROM patients"
_NEXT: Final = "SELECT sex, COUNT(*) FROM patients GROUP BY sex"


@click.command()
@option.options(option.POLICY)
def demo(policy: Path | None) -> None:
    """Ask an invented clinic a few questions.

    Shows a price, answers with error bars, budgets and a refusal. Its ledger is in memory.
    """
    from dpsql.cli import screen
    from dpsql.policy import load
    from dpsql.session import Session

    file = policy or _ROOT / _POLICY
    if policy is None and not (file.exists() and load(file).source_path.exists()):
        raise failure.usage(
            "The sample data is not there.",
            "In a copy of the source, `make demo` builds it; then run `dpsql demo` from there.",
        )
    session = Session.open(file, ":memory:")
    try:
        _tell(session, file, screen.console())
    finally:
        session.close()


def _tell(session: Session, file: Path, console: Console) -> None:
    from rich.console import Group

    from dpsql.cli import screen
    from dpsql.plan.plan import Plan

    _, first, epsilon = _QUESTIONS[0]
    _heading(console, 1, "What would a question cost? The plan says so before any row is read.")
    _query(console, first)
    plan = session.explain(first, terms=_terms(epsilon))
    if isinstance(plan, Plan):
        _indent(console, Group(*screen.summarised(plan)))
    for place, (title, sql, epsilon) in enumerate(_QUESTIONS, start=2):
        _heading(console, place, title)
        _query(console, sql)
        release = session.answer(sql, terms=_terms(epsilon))
        _indent(console, screen.table(format.answer_sheet(release)))
        _indent(console, f"paid {screen.paid(release.charges)}", style="dim")
    place = len(_QUESTIONS) + 2
    _heading(console, place, "What is left? A query passes while each account has a rule with room.")
    _indent(console, screen.budget(in_order(session.budget()), console, _MARGIN))
    _heading(console, place + 1, "And what is refused? Whatever is not an aggregate over many people.")
    _refusal(session, console)
    screen.write("\nNow ask something yourself:", terminal=console)
    _indent(console, _invitation(file), style="bold")


def _refusal(session: Session, console: Console) -> None:
    _query(console, _REFUSED)
    try:
        session.answer(_REFUSED)
    except Error as error:
        _indent(console, f"{error.code} {error.message}", style="red")
        _indent(console, f"hint: {error.hint}")


def _invitation(file: Path) -> str:
    """A command that works in the reader's folder, whatever is on the path."""
    found = which("dpsql")
    here = Path(sys.argv[0])
    # The program that runs is named as it was called, unless its bare name leads to it.
    bare = found is not None and here.exists() and Path(found).samefile(here)
    command = "dpsql" if bare else _called(here)
    return f'{command} explain -p {_shown(file)} "{_NEXT}"'


def _called(program: Path) -> str:
    return _shown(program) if program.name == "dpsql" else f"{_shown(Path(sys.executable))} -m dpsql"


def _shown(file: Path) -> str:
    """A path, relative where it is below the folder one is in, quoted for a shell."""
    path = file.absolute()
    here = Path.cwd()
    return quote(str(path.relative_to(here) if path.is_relative_to(here) else path))


def _terms(epsilon: str) -> Terms:
    from dpsql.session import Terms

    return Terms(epsilon=Decimal(epsilon))


def _heading(console: Console, place: int, title: str) -> None:
    from dpsql.cli import screen

    screen.write(f"\n{place}. {title}\n", style="bold cyan", terminal=console)


def _query(console: Console, sql: str) -> None:
    _indent(console, f"{sql}\n", style="dim")


def _indent(console: Console, shown: RenderableType, style: str = "none") -> None:
    from rich.padding import Padding

    from dpsql.cli import screen

    screen.write(Padding(shown, (0, 0, 0, _MARGIN), expand=False), style=style, terminal=console)
