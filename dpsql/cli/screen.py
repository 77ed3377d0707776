"""How do answers, plans and budgets look on a terminal?"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from textwrap import indent
from typing import TYPE_CHECKING, Final, TextIO

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from dpsql.cli.format import Sheet, cells, number, printable

if TYPE_CHECKING:
    from dpsql.cli.ledger import Line
    from dpsql.ledger import AccountState, Finding
    from dpsql.plan.charge import Charge
    from dpsql.plan.plan import Plan, PublicPlan

WIDEST: Final = 120
_BAR: Final = 30
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_SLACK: Final = "slack"
_PREFIX: Final = 12
_WHO_PAYS: Final = "Who pays, what is left then of each filter rule, and how many more fit:"
_LOW: Final = 0.1
_HALF: Final = 0.5


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout, or on another stream, no wider than is pleasant to read."""
    found = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        return Console(file=found.file, highlight=False, markup=False, emoji=False, width=WIDEST)
    found.width = min(found.width, WIDEST)
    return found


def table(sheet: Sheet) -> Table:
    """A sheet as a table; numbers are not folded."""
    shown = _plain_table((), right=())
    for name, right in zip(sheet.names, sheet.numeric, strict=True):
        shown.add_column(
            Text(printable(name)), justify="right" if right else "left", no_wrap=right, overflow="fold"
        )
    columns = [_column(sheet, index) for index in range(len(sheet.names))]
    for row in zip(*columns, strict=True):
        shown.add_row(*row)
    return shown


def _column(sheet: Sheet, index: int) -> list[Text]:
    parts = cells(sheet, index)
    width = max((len(error) for _, error in parts), default=0)
    return [
        _cell(row[index], value, error, width) for row, (value, error) in zip(sheet.rows, parts, strict=True)
    ]


def _cell(raw: object, value: str, error: str, width: int) -> Text:
    text = Text(value, style="dim italic" if raw is None else "")
    if width:
        text.append(f" ± {error:>{width}}" if error else " " * (width + 3), style="dim")
    return text


def show_plan(planned: Plan | PublicPlan) -> None:
    """Write a plan to stdout: what is measured, which groups show, who pays, and the SQL that will run."""
    from dpsql.plan.plan import PublicPlan

    terminal = console()
    if isinstance(planned, PublicPlan):
        terminal.print("The query reads public tables only: exact and free.")
    else:
        terminal.print(Group(*summarised(planned)))
    # The terminal wraps long lines itself, so that what is copied is the statement as it will run.
    terminal.print(Text("\n" + indent(planned.sql, "  "), style="dim"), soft_wrap=True)


def summarised(planned: Plan) -> tuple[RenderableType, ...]:
    """A priced plan without its SQL."""
    from dpsql.plan.explain import groups_line

    price = Text.assemble(
        "This query costs ",
        (f"epsilon {number(planned.price.epsilon)}", "bold"),
        f" and at most delta {number(planned.price.delta)}. Nothing has been read or spent yet.",
    )
    return price, "", _measurements(planned), "", groups_line(planned), "", _WHO_PAYS, "", _charges(planned)


def _measurements(planned: Plan) -> Table:
    shown = _plain_table(("measurement", "l1", "l2", "noise", "scale", "± (95 %)"), right=(1, 2, 4, 5))
    for part in planned.measurements:
        shown.add_row(
            Text(printable(part.sql)),
            _figure(part.l1),
            _figure(part.l2),
            part.mechanism,
            _figure(part.scale),
            Text(_figure(part.error), style="bold"),
        )
    return shown


def _charges(planned: Plan) -> Table:
    alive = dict.fromkeys(rule for outlook in planned.outlook for rule in outlook.rules)
    rules = sorted(alive, key=lambda rule: rule == _SLACK)
    names = ("account", "epsilon", "delta", *rules, "more such")
    shown = _plain_table(names, right=tuple(range(1, len(names))))
    for charge in planned.charges:
        outlook = next(each for each in planned.outlook if each.account == charge.account)
        shares = [_share(outlook.rules.get(rule)) for rule in rules]
        more = f"{outlook.more:,}" if outlook.rules else Text("refused", style="red")
        shown.add_row(Text(charge.account), number(charge.epsilon), number(charge.delta), *shares, more)
    return shown


def _share(share: float | None) -> Text:
    return Text("-", style="dim") if share is None else Text(f"{share:.1%}", style=_colour(share))


def budget(accounts: Sequence[AccountState], utf8: bool = True) -> RenderableType:
    """What is left of each account, a bar for each rule of its filter that is still alive."""
    parts: list[RenderableType] = []
    for account in accounts:
        parts += [_heading(account), _bars(account, utf8), ""]
    return Group(*parts[:-1])


def _heading(account: AccountState) -> Text:
    outlook = {None: "nothing charged yet", 1: "1 more query like the last"}.get(
        account.more, f"{account.more or 0:,} more queries like the last"
    )
    return Text.assemble(
        (account.account, "bold"),
        f"  epsilon {number(account.epsilon)}, delta {number(account.delta)}",
        (f"  {outlook}", "dim"),
    )


def _bars(account: AccountState, utf8: bool) -> RenderableType:
    if not account.rules:
        return Text("  used up: every further query is refused", style="red")
    shown = Table.grid(padding=(0, 2))
    shown.add_column(min_width=9)
    shown.add_column()
    shown.add_column(justify="right", min_width=7)
    shown.add_column()
    rules = sorted(account.rules.items(), key=lambda item: (item[0] == _SLACK, -item[1]))
    for rule, share in rules:
        note = "of the delta for private keys" if rule == _SLACK else ""
        shown.add_row(Text(f"  {rule}"), _bar(share, utf8), f"{share:.1%}", Text(note, style="dim"))
    return shown


def _bar(share: float, utf8: bool) -> Text:
    eighths = round(min(1.0, max(0.0, share)) * _BAR * 8)
    full, rest = divmod(eighths, 8)
    if not utf8:
        return Text("#" * full + "." * (_BAR - full))
    filled = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text.assemble((filled, _colour(share)), ("░" * (_BAR - len(filled)), "dim"))


def _colour(share: float) -> str:
    if share < _LOW:
        return "red"
    return "yellow" if share < _HALF else "green"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _plain_table(names: tuple[str, ...], right: tuple[int, ...]) -> Table:
    shown = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, collapse_padding=True, header_style="bold", show_edge=False
    )
    for index, name in enumerate(names):
        shown.add_column(name, justify="right" if index in right else "left")
    return shown


def paid(charges: Sequence[Charge]) -> str:
    """Who paid what, in one line."""
    prices: dict[str, list[str]] = {}
    for charge in charges:
        price = f"epsilon {number(charge.epsilon)}" + (
            f" and delta {number(charge.delta)}" if charge.delta else ""
        )
        prices.setdefault(price, []).append(charge.account)
    return "; ".join(f"{price} from {', '.join(accounts)}" for price, accounts in prices.items())


def findings(found: Sequence[Finding]) -> Table:
    """The checks of an audit, with what each has to say."""
    shown = _plain_table(("check", "", "entry", "detail"), right=(2,))
    for finding in found:
        verdict = Text("ok", style="green") if finding.ok else Text("failed", style="bold red")
        place = "" if finding.sequence is None else f"{finding.sequence:,}"
        shown.add_row(finding.check, verdict, place, Text(printable(finding.detail)))
    return shown


def entries(lines: Sequence[Line]) -> RenderableType:
    """Entries of a ledger, newest last; below each charge, what was asked and who paid."""
    width = len(str(lines[-1].sequence)) if lines else 0
    parts: list[RenderableType] = []
    for line in lines:
        head = Text(f"{line.sequence:>{width}}  ", style="bold")
        head.append(f"{line.time.replace('T', ' ')}  ", style="not bold")
        head.append(f"{line.hash[:_PREFIX]}  ", style="not bold dim")
        head.append(line.what, style="not bold" if line.statement is None else "bold")
        if line.analyst is not None:
            head.append(f" for {printable(line.analyst)}", style="not bold")
        parts.append(head)
        if line.statement is not None:
            statement = Text(printable(" ".join(line.statement.split())), style="cyan")
            parts += [Padding(part, (0, 0, 0, width + 2)) for part in (statement, line.paid())]
    return Group(*parts)
