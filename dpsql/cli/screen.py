"""How do answers, plans and budgets look on a terminal?"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_CEILING, Decimal
from textwrap import indent
from typing import TYPE_CHECKING, Final, TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from dpsql.accounting.filters import Portfolio
from dpsql.cli.format import Sheet, cells, printable
from dpsql.cli.grid import Grid
from dpsql.spelling import number

if TYPE_CHECKING:
    from dpsql.accounting.odometers import Milestone
    from dpsql.cli.ledger import Line
    from dpsql.ledger import AccountState, Finding, Spending
    from dpsql.plan.charge import Charge
    from dpsql.plan.plan import Plan, PublicPlan

_BOUNDLESS: Final = 1_000_000  # cells of a line that no terminal shows
_BAR: Final = 30
_SHORTEST_BAR: Final = 5
_BESIDE_BAR: Final = 2 + 9 + 2 + 7  # margin, name, gap and percentage
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_SLACK: Final = "slack"
_MEANINGS: Final = {
    "basic": "the sum of epsilons",
    "residue": "a budget of Gaussian noise",
    "rdp": "a budget of Rényi divergence",
    _SLACK: "the delta kept for groups without public keys",
}
_NEEDS_SLACK: Final = ", and slack if its groups are not public"
_MORE: Final = "More: docs/accounting.md."
_PREFIX: Final = 12
_WHO_PAYS: Final = "Who pays, what is left then of each filter rule, and how many more fit:"
_LOW: Final = 0.1
_HALF: Final = 0.5


def console(stream: TextIO | None = None) -> Console:
    """A console on stdout, or on another stream; off a terminal lines are as long as what they hold."""
    found = Console(file=stream or sys.stdout, highlight=False, markup=False, emoji=False)
    if not found.is_terminal:
        found.width = _BOUNDLESS
    return found


def write(*shown: RenderableType, style: str = "none", terminal: Console | None = None) -> None:
    """Write to stdout, or to another console; nothing is cropped, and no line ends in blanks."""
    target = terminal or console()
    with target.capture() as captured:
        # Cropping would cut the digits of a number that is wider than the terminal.
        target.print(Group(*shown), style=style, crop=False)
    lines = captured.get().split("\n")
    target.file.write("\n".join(line.rstrip(" ") for line in lines))


def table(sheet: Sheet) -> Grid:
    """A sheet as a table."""
    columns = [_column(sheet, index) for index in range(len(sheet.names))]
    rows = tuple(zip(*columns, strict=True))
    return Grid(tuple(printable(name) for name in sheet.names), sheet.numeric, rows)


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

    if isinstance(planned, PublicPlan):
        write("The query reads public tables only: exact and free.")
    else:
        write(*summarised(planned))
    # The terminal wraps long lines itself, so that what is copied is the statement as it will run.
    write(Text("\n" + indent(planned.sql, "  "), style="dim", no_wrap=True, overflow="ignore"))


def summarised(planned: Plan) -> tuple[RenderableType, ...]:
    """A priced plan without its SQL."""
    from dpsql.plan.explain import groups_line

    price = Text.assemble(
        "This query costs ",
        (f"epsilon {number(planned.price.epsilon)}", "bold"),
        f" and at most delta {number(planned.price.delta)}. Nothing has been read or spent yet.",
    )
    return price, "", _measurements(planned), "", groups_line(planned), "", _WHO_PAYS, "", _charges(planned)


def _measurements(planned: Plan) -> Grid:
    return Grid(
        ("measurement", "l1", "l2", "noise", "scale", "± (95 %)"),
        (False, True, True, False, True, True),
        [
            (
                Text(printable(part.sql)),
                Text(_figure(part.l1)),
                Text(_figure(part.l2)),
                Text(part.mechanism),
                Text(_figure(part.scale)),
                Text(_figure(part.error), style="bold"),
            )
            for part in planned.measurements
        ],
    )


def _charges(planned: Plan) -> Grid:
    alive = dict.fromkeys(rule for outlook in planned.outlook for rule in outlook.rules)
    rules = sorted(alive, key=lambda rule: rule == _SLACK)
    rows = []
    for charge in planned.charges:
        outlook = next(each for each in planned.outlook if each.account == charge.account)
        price = (Text(number(charge.epsilon)), Text(number(charge.delta)))
        shares = [_share(outlook.rules.get(rule)) for rule in rules]
        more = Text(f"{outlook.more:,}") if outlook.rules else Text("refused", style="red")
        rows.append((Text(charge.account), *price, *shares, more))
    names = ("account", "epsilon", "delta", *rules, "more such")
    return Grid(names, (False, *(True for _ in names[1:])), rows)


def _share(share: float | None) -> Text:
    return Text("-", style="dim") if share is None else Text(f"{share:.1%}", style=_colour(share))


def budget(
    accounts: Sequence[AccountState],
    terminal: Console,
    margin: int = 0,
    spent: Mapping[str, Spending] | None = None,
) -> RenderableType:
    """What is left of each account, a bar for each rule of its filter; ended rules are named, too.

    Where it is known what an account has spent, a line says so.
    """
    parts: list[RenderableType] = []
    room = terminal.width - margin - _BESIDE_BAR
    for account in accounts:
        parts += [_heading(account), *_bars(account, min(_BAR, room), not terminal.options.ascii_only)]
        parts += [*_so_far((spent or {}).get(account.account)), ""]
    return Group(*parts, Text(_legend(accounts), style="dim"))


def _heading(account: AccountState) -> Text:
    outlook = {None: "nothing charged yet", 1: "1 more query like the last"}.get(
        account.more, f"{account.more or 0:,} more queries like the last"
    )
    return Text.assemble(
        (account.account, "bold"),
        f"  epsilon {number(account.epsilon)}, delta {number(account.delta)}",
        (f"  {outlook}", "dim"),
    )


def _so_far(spending: Spending | None) -> Iterator[Text]:
    if spending is None or spending.loss is None:
        return
    yield Text(f"  so far   loss at most {_bound(spending, spending.loss)}, whenever you look", style="dim")
    if spending.milestone is not None:
        yield Text(f"           {_until(spending.milestone, spending.milestone_delta)}", style="dim")


def _bound(spending: Spending, loss: float) -> str:
    """The bound, and how it may fail. The sum of epsilons can fail by the deltas of the charges only."""
    epsilon = spending.epsilon
    if epsilon is None or Decimal(loss) < epsilon:
        sums = "" if epsilon is None else f" (epsilons add up to {number(epsilon)})"
        return f"{_rounded_up(loss)}{sums}, except with probability {number(spending.loss_delta)}"
    unless = f", except with probability {number(spending.delta)}" if spending.delta else ""
    return f"{number(epsilon)}, the sum of epsilons{unless}"


def _until(ahead: Milestone, delta: Decimal) -> str:
    pair = f"({_rounded_up(ahead.epsilon)}, {number(delta)})"
    return f"all until its {ahead.share:.0%} milestone, still ahead, is {pair}-differentially private"


def _rounded_up(value: float) -> str:
    return number(Decimal(str(value)).quantize(Decimal("0.001"), ROUND_CEILING))


def _bars(account: AccountState, width: int, utf8: bool) -> Iterator[Text]:
    if not account.rules:
        yield Text("  used up: every further query is refused", style="red")
        return
    for rule, share in sorted(account.rules.items(), key=lambda item: (item[0] == _SLACK, -item[1])):
        bar = Text.assemble(_bar(share, width, utf8), "  ") if width >= _SHORTEST_BAR else Text()
        yield Text.assemble(f"  {rule:<9}", bar, f"{share:>7.1%}", no_wrap=True, overflow="ignore")
    for rule in ended(account):
        yield Text(f"  {rule:<9}ended: a query went beyond it", style="dim")


def ended(account: AccountState) -> tuple[str, ...]:
    """Rules of the account's filter that a charge has ended for ever, or all when nothing is admitted."""
    opened = Portfolio.open(account.epsilon, account.delta).rules()
    return tuple(rule for rule in opened if rule not in account.rules)


def _legend(accounts: Sequence[AccountState]) -> str:
    named = {rule for account in accounts for rule in (*account.rules, *ended(account))}
    rules = ", ".join(f"{rule}: {meaning}" for rule, meaning in _MEANINGS.items() if rule in named)
    return f"A query needs one rule with room{_NEEDS_SLACK if _SLACK in named else ''}. {_MORE}\n{rules}."


def _bar(share: float, width: int, utf8: bool) -> Text:
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    full, rest = divmod(eighths, 8)
    if not utf8:
        return Text("#" * full + "." * (width - full))
    filled = "█" * full + (_EIGHTHS[rest] if rest else "")
    return Text.assemble((filled, _colour(share)), ("░" * (width - len(filled)), "dim"))


def _colour(share: float) -> str:
    if share < _LOW:
        return "red"
    return "yellow" if share < _HALF else "green"


def _figure(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def paid(charges: Sequence[Charge]) -> str:
    """Who paid what, in one line."""
    prices: dict[str, list[str]] = {}
    for charge in charges:
        price = f"epsilon {number(charge.epsilon)}" + (
            f" and delta {number(charge.delta)}" if charge.delta else ""
        )
        prices.setdefault(price, []).append(charge.account)
    return "; ".join(f"{price} from {', '.join(accounts)}" for price, accounts in prices.items())


def findings(found: Sequence[Finding]) -> Grid:
    """The checks of an audit, with what each has to say."""
    rows = []
    for finding in found:
        verdict = Text("ok", style="green") if finding.ok else Text("failed", style="bold red")
        place = "" if finding.sequence is None else f"{finding.sequence:,}"
        rows.append((Text(finding.check), verdict, Text(place), Text(printable(finding.detail))))
    return Grid(("check", "", "entry", "detail"), (False, False, True, False), rows)


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
