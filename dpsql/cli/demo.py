"""`dpsql demo`: what does using dpsql look like?"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
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
        _tell(session, screen.console())
    finally:
        session.close()


def _tell(session: Session, console: Console) -> None:
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
    _indent(console, screen.budget(in_order(session.budget()), not console.options.ascii_only))
    _heading(console, place + 1, "And what is refused? Whatever is not an aggregate over many people.")
    _refusal(session, console)


def _refusal(session: Session, console: Console) -> None:
    _query(console, _REFUSED)
    try:
        session.answer(_REFUSED)
    except Error as error:
        _indent(console, f"{error.code} {error.message}", style="red")
        _indent(console, f"hint: {error.hint}")
    console.print("\nNow ask something yourself:")
    _indent(console, f'dpsql explain -p {_POLICY} "{_NEXT}"', style="bold")


def _terms(epsilon: str) -> Terms:
    from dpsql.session import Terms

    return Terms(epsilon=Decimal(epsilon))


def _heading(console: Console, place: int, title: str) -> None:
    console.print(f"\n{place}. {title}\n", style="bold cyan")


def _query(console: Console, sql: str) -> None:
    _indent(console, sql, style="dim")
    console.print()


def _indent(console: Console, shown: RenderableType, style: str = "none") -> None:
    from rich.padding import Padding

    console.print(Padding(shown, (0, 0, 0, 3), expand=False), style=style)
