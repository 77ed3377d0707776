"""`dpsql query` and `dpsql explain`: what is the answer, and what would it cost?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dpsql.cli import failure, format, option
from dpsql.cli.question import Question, asks

if TYPE_CHECKING:
    from dpsql.engine.release import Release
    from dpsql.plan.plan import Plan, PublicPlan

_MEASUREMENT = ("sql", "l1", "l2", "mechanism", "scale", "error", "keys")


@click.command()
@asks
@option.KEY
def query(question: Question, form: str, key: str | None) -> None:
    """Answer one SELECT and charge it.

    The answer goes to stdout, with the 95 % half-width of every noisy value; what was paid goes to stderr.
    SQL is the statement, or `-` to read it from stdin.
    """
    session = question.session()
    try:
        release = session.answer(question.sql, question.parameters, question.terms, key)
    finally:
        session.close()
    write_answer(release, form)
    failure.say(_receipt(release))


@click.command()
@asks
def explain(question: Question, form: str) -> None:
    """Show what a query would cost and do.

    Spends nothing and reads no row. CSV, JSON lines and Markdown hold the measurements, JSON the whole plan.
    SQL is the statement, or `-` to read it from stdin.
    """
    session = question.session()
    try:
        plan = session.explain(question.sql, question.parameters, question.terms)
    finally:
        session.close()
    if form == format.TABLE:
        from dpsql.cli import screen

        screen.show_plan(plan)
    else:
        click.echo(format.written(_measurements(plan), plan.to_dict(), form), nl=False)


def write_answer(release: Release, form: str) -> None:
    """Write an answer to stdout."""
    sheet = format.answer_sheet(release)
    if form == format.TABLE:
        from dpsql.cli import screen

        screen.write(screen.table(sheet))
    else:
        click.echo(format.written(sheet, format.answer_document(release), form), nl=False)


def _receipt(release: Release) -> str:
    from dpsql.cli.screen import paid

    if release.receipt is None:
        return "Public tables only: exact and free."
    entry = f"ledger entry {release.receipt.sequence}"
    if release.replayed:
        return f"The same answer as before, free of charge ({entry})."
    return f"Paid {paid(release.charges)} ({entry}). ± holds in 95 % of cases."


def _measurements(plan: Plan | PublicPlan) -> format.Sheet:
    rows = [tuple(getattr(part, name) for name in _MEASUREMENT) for part in plan.measurements]
    return format.listing(_MEASUREMENT, rows)
