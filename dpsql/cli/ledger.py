"""`dpsql ledger`: what was spent, does it verify, and who may ask again?"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, assert_never

import click

from dpsql.cli import failure, format, option
from dpsql.cli.place import ledger_location
from dpsql.cli.question import policy_path

if TYPE_CHECKING:
    from dpsql.ledger import Anchor, Finding, Numbered

_NAMES: Final = ("sequence", "time", "what", "analyst", "statement", "charges", "hash")


@dataclass(frozen=True, slots=True)
class Line:
    """One entry as it is listed."""

    sequence: int
    time: str
    what: str
    analyst: str | None
    statement: str | None
    charges: list[dict[str, object]]
    hash: str

    def paid(self) -> str:
        """Who paid what."""
        prices: dict[str, list[str]] = {}
        for charge in self.charges:
            delta = "" if charge["delta"] == "0" else f", delta {charge['delta']}"
            prices.setdefault(f"epsilon {charge['epsilon']}{delta}", []).append(str(charge["account"]))
        return "; ".join(f"{price} from {', '.join(accounts)}" for price, accounts in prices.items())


@click.group()
def ledger() -> None:
    """Read and verify what was spent."""


@ledger.command()
@option.options(option.POLICY, option.LEDGER, option.FORMAT)
@click.option(
    "--limit", type=click.IntRange(min=0), default=20, show_default=True, help="Newest entries; 0: all."
)
@click.pass_context
def show(ctx: click.Context, policy: Path | None, ledger: str | None, form: str, limit: int) -> None:
    """List the newest entries, oldest first.

    Statements are shown as they were asked: their constants can be names of people. Exit code 6 if the
    chain of entries is broken.
    """
    from dpsql.ledger import open_reader

    with open_reader(ledger_location(policy, ledger)) as reader:
        head = reader.head
        lines = deque(_lines(reader.entries()), maxlen=limit or None)
        broken = reader.first_break()
    if len(lines) < head.sequence:
        failure.say(f"The newest {len(lines)} of {head.sequence:,} entries; --limit 0 shows all.")
    if form == format.TABLE:
        from dpsql.cli import screen

        screen.write(screen.entries(tuple(lines)))
    else:
        document = [{name: getattr(line, name) for name in _NAMES} for line in lines]
        click.echo(format.written(_sheet(lines), document, form), nl=False)
    if broken is not None:
        failure.say(f"Do not trust this list: the chain breaks at entry {broken}. Run `dpsql ledger verify`.")
        ctx.exit(failure.NOT_VERIFIED)


@ledger.command()
@option.options(option.POLICY, option.LEDGER, option.FORMAT)
@click.option("--anchor", metavar="N:HASH", help="A head that was noted elsewhere: it shows a rollback.")
@click.pass_context
def verify(
    ctx: click.Context, policy: Path | None, ledger: str | None, form: str, anchor: str | None
) -> None:
    """Replay every entry, report each check.

    Exit code 6 if one fails. Note the head elsewhere: given as --anchor, it shows a rollback.
    """
    from dpsql.ledger import audit

    location = ledger_location(policy, ledger)
    findings = audit(location, _anchor(anchor))
    names = ("check", "ok", "sequence", "detail")
    rows = [tuple(getattr(finding, name) for name in names) for finding in findings]
    if form == format.TABLE:
        from dpsql.cli import screen

        screen.write(screen.findings(findings))
    else:
        document = [dict(zip(names, row, strict=True)) for row in rows]
        click.echo(format.written(format.listing(names, rows), document, form), nl=False)
    _conclude(ctx, findings, location)


@ledger.command()
@option.options(option.POLICY, option.LEDGER)
@click.option(
    "--format",
    "form",
    type=click.Choice(("html", "json")),
    default="html",
    show_default=True,
    help="A page for people, or a document for programs.",
)
@click.option("--literals", is_flag=True, help="Show the constants of questions; they can name people.")
@click.option("--anchor", metavar="N:HASH", help="A head that was noted elsewhere: it shows a rollback.")
@click.pass_context
def export(
    ctx: click.Context,
    policy: Path | None,
    ledger: str | None,
    form: str,
    literals: bool,
    anchor: str | None,
) -> None:
    """Write an audit report.

    Budgets and what is left, who asked what (times rounded to the day, constants hidden), the guarantee,
    and what a verification finds. Exit code 6 if a check fails.
    """
    from dpsql.cli.audit_report import to_html, to_json
    from dpsql.ledger import open_reader
    from dpsql.ledger.report import build_report

    location = ledger_location(policy, ledger)
    with open_reader(location) as reader:
        report = build_report(reader, _anchor(anchor), literals=literals)
    click.echo(to_html(report) if form == "html" else to_json(report), nl=False)
    _conclude(ctx, report.findings, location)


@ledger.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@option.options(option.POLICY, option.LEDGER)
def backup(file: Path, policy: Path | None, ledger: str | None) -> None:
    """Copy the ledger to FILE, also while it is in use.

    The copy holds the ledger's secret: keep it as protected. Its head is printed: note it elsewhere.
    """
    from dpsql.ledger.backup import back_up

    head = back_up(ledger_location(policy, ledger), file)
    failure.say(f"The backup {file} verifies; its head is {head}")


@ledger.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option.options(option.POLICY, option.LEDGER)
@click.option(
    "--anchor",
    metavar="N:HASH",
    help="An entry of the lost ledger after which nothing was charged. Default: the anchor file's.",
)
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_context
def restore(
    ctx: click.Context, file: Path, policy: Path | None, ledger: str | None, anchor: str | None, yes: bool
) -> None:
    """Put the backup FILE in the place of a lost ledger.

    If the --anchor shows that the backup has every charge, budgets go on as they were. Otherwise every
    budget counts as spent: what was charged since is unknown. No policy may have been accepted since the
    backup; if one was, start a new ledger.
    """
    from dpsql.ledger.anchor_file import AnchorFile
    from dpsql.ledger.backup import gap, restore
    from dpsql.session import ANCHOR_FILE

    noted = AnchorFile(Path(os.environ[ANCHOR_FILE])) if os.environ.get(ANCHOR_FILE) else None
    newest = _anchor(anchor) or (None if noted is None else noted.read())
    location = ledger_location(policy, ledger)
    if gap(file, newest) != 0:
        failure.say("Entries after this backup are lost: every budget will count as spent.")
        if not yes and not click.confirm("Restore it?", err=True):
            failure.say("Nothing was written.")
            ctx.exit(failure.INTERRUPTED)
    head = restore(file, location, newest)
    if noted is not None:
        noted.write(head)
    failure.say(f"The ledger {location} is restored; its head is {head}")


@ledger.command()
@click.argument("analyst")
@option.options(option.POLICY, option.LEDGER)
def unlock(analyst: str, policy: Path | None, ledger: str | None) -> None:
    """Let an analyst ask again.

    After five failed runs an analyst is refused; forgetting them is the owner's decision and is recorded.
    """
    from dpsql.policy import load
    from dpsql.session import open_ledger, public_facts

    promise = load(policy_path(policy))
    with open_ledger(promise, public_facts(promise), ledger) as opened:
        failures = opened.failures(analyst)
        if not failures:
            failure.say(f"{analyst!r} has no failed runs; nothing was written.")
            return
        opened.unlock(analyst)
    failure.say(f"{analyst!r} may ask again ({failures} failed runs are forgotten).")


def _anchor(text: str | None) -> Anchor | None:
    from dpsql.ledger import Anchor

    try:
        return None if text is None else Anchor.parse(text)
    except ValueError as error:
        raise failure.usage(str(error), "`dpsql ledger verify` prints the current one.") from error


def _conclude(ctx: click.Context, findings: tuple[Finding, ...], location: str) -> None:
    from dpsql.ledger import open_reader

    failed = sorted({finding.check for finding in findings if not finding.ok})
    if failed:
        failure.say(f"The ledger does not verify: {', '.join(failed)}.")
        ctx.exit(failure.NOT_VERIFIED)
    with open_reader(location) as reader:
        failure.say(f"The ledger verifies; its head is {reader.head}")


def _lines(entries: Iterable[Numbered]) -> Iterable[Line]:
    charged: dict[str, Line] = {}
    for numbered in entries:
        yield _line(numbered, charged)


def _line(numbered: Numbered, charged: dict[str, Line]) -> Line:
    from dpsql.ledger import Charged, Failed, Opened, PolicyChanged, Released, Restored, Unlocked

    entry = numbered.entry
    what, analyst, statement = "", None, None
    charges: list[dict[str, object]] = []
    match entry:
        case Opened():
            what = f"opened for {entry.policy_id}"
        case PolicyChanged():
            what = "policy accepted"
        case Unlocked():
            what, analyst = "unlocked", entry.analyst
        case Restored():
            what = "restored" if entry.lost == 0 else "restored, budgets count as spent"
        case Charged():
            what, analyst, statement = "charged", entry.analyst, entry.statement
            charges = format.charge_documents([debit.charge for debit in entry.debits])
        case Released() | Failed():
            paid = charged.pop(entry.receipt, None)
            verb = "released" if isinstance(entry, Released) else "failed"
            what = verb if paid is None else f"{verb} {paid.sequence}"
            analyst = None if paid is None else paid.analyst
        case _:
            assert_never(entry)
    line = Line(numbered.sequence, numbered.time, what, analyst, statement, charges, numbered.hash)
    if isinstance(entry, Charged):
        charged[entry.receipt] = line
    return line


def _sheet(lines: Iterable[Line]) -> format.Sheet:
    rows = [(n.sequence, n.time, n.what, n.analyst, n.statement, n.paid() or None, n.hash) for n in lines]
    return format.listing(_NAMES, rows)
