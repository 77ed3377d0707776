"""Does every number reach the reader, whatever the width of the terminal?"""

from __future__ import annotations

import io
import re
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from dpsql.accounting.odometers import Milestone
from dpsql.cli.format import Sheet, cells
from dpsql.cli.main import program
from dpsql.cli.screen import budget, console, ended, table, write
from dpsql.ledger import AccountState, Spending
from tests.cli.conftest import Run

WIDTHS = range(20, 121)
SUMS = ", ".join(f"SUM(age) + {n} AS total_age_of_all_{n}" for n in range(7))


def shown(sheet: Sheet, width: int | None) -> str:
    file = io.StringIO()
    terminal = console(file)
    if width is not None:
        terminal = Console(file=file, force_terminal=True, color_system=None, width=width, highlight=False)
    write(table(sheet), terminal=terminal)
    return file.getvalue()


@st.composite
def sheets(draw: st.DrawFn) -> Sheet:
    columns = draw(st.integers(1, 8))
    rows = draw(st.integers(1, 3))
    names = draw(st.lists(st.text("abc_ ", min_size=1, max_size=25), min_size=columns, max_size=columns))
    value = st.integers(-(10**15), 10**15) | st.floats(-1e12, 1e12)
    values = [tuple(draw(value) for _ in range(columns)) for _ in range(rows)]
    errors = [tuple(draw(st.floats(0.01, 1e9)) for _ in range(columns)) for _ in range(rows)]
    yes = (True,) * columns
    return Sheet(
        ("key", *names),
        [("ä long key", *row) for row in values],
        (False, *yes),
        (False, *yes),
        [(None, *row) for row in errors],
    )


@given(sheets(), st.sampled_from(WIDTHS) | st.none())
def test_every_number_and_its_error_are_shown_whole(sheet: Sheet, width: int | None) -> None:
    text = shown(sheet, width)

    numbers = [pair for column in range(1, len(sheet.names)) for pair in cells(sheet, column)]
    for value, error in numbers:
        assert re.search(rf"(?<![\d,.-]){re.escape(value)} ± +{re.escape(error)}(?![\d,.])", text)
    assert "…" not in text


@given(sheets(), st.sampled_from(WIDTHS))
def test_no_line_is_wider_than_the_terminal_unless_one_number_is(sheet: Sheet, width: int) -> None:
    lines = shown(sheet, width).splitlines()

    assert all(cell_len(line) <= width or len(line.split("±")) == 2 for line in lines)


@given(sheets())
def test_off_a_terminal_a_row_is_a_line(sheet: Sheet) -> None:
    assert len(shown(sheet, None).splitlines()) == len(sheet.rows) + 2


def test_a_long_text_is_folded_before_a_row_becomes_a_record() -> None:
    sheet = Sheet(("key", "n"), [("word " * 12, 4_954_005)], (False, True))

    lines = shown(sheet, 40).splitlines()

    assert lines[0].split() == ["key", "n"]
    assert max(map(len, lines)) <= 40
    assert " ".join(lines).count("word") == 12


@pytest.fixture
def narrow(policy_file: Path) -> Run:
    """Runs a command in a terminal of 40 columns."""

    def running(*arguments: str) -> Result:
        variables = {"DPSQL_POLICY": str(policy_file), "COLUMNS": "40", "FORCE_COLOR": "1", "TERM": "dumb"}
        return CliRunner().invoke(program, arguments, env=variables)

    return running


def test_a_query_and_its_price_are_whole_in_a_narrow_terminal(narrow: Run) -> None:
    answer = narrow("query", f"SELECT {SUMS} FROM patients", "--epsilon", "1")
    plan = narrow("explain", f"SELECT {SUMS} FROM patients", "--epsilon", "1")

    numbers = re.findall(r"\d+,\d{3} ± \d+", answer.stdout)
    assert len(numbers) == 7, answer.stdout
    assert "110" in plan.stdout
    assert "…" not in answer.stdout + plan.stdout


@pytest.mark.parametrize(
    "arguments",
    [("ledger", "show"), ("ledger", "verify"), ("budget",), ("explain", "SELECT COUNT(*) FROM patients")],
)
def test_no_piped_line_ends_in_blanks(run: Run, arguments: tuple[str, ...]) -> None:
    run("query", "SELECT ward, COUNT(*) AS n FROM patients GROUP BY ward")

    lines = run(*arguments).stdout.splitlines()

    assert lines
    assert [line for line in lines if line != line.rstrip()] == []


def test_bars_of_different_shares_differ_in_a_narrow_terminal() -> None:
    shares = {"basic": 0.9, "residue": 0.5}
    account = AccountState("unit:patient", Decimal(2), Decimal("1e-6"), shares, 3)
    file = io.StringIO()
    terminal = Console(file=file, force_terminal=True, color_system=None, width=30)

    write(budget((account,), terminal), terminal=terminal)

    bars = [line for line in file.getvalue().splitlines() if "%" in line]
    assert len({line.count("█") for line in bars}) == 2
    assert all(len(line) <= 30 for line in bars)


def test_a_rule_that_a_query_ended_is_named_as_ended(run: Run) -> None:
    account = AccountState("unit:patient", Decimal(2), Decimal("1e-6"), {"basic": 0.5, "slack": 1.0}, 3)
    run("query", "SELECT COUNT(*) AS n FROM patients", "--epsilon", "1")

    text = run("budget").stdout

    assert ended(account) == ("residue", "rdp")
    assert "residue  ended" in text
    assert "docs/accounting.md" in text


@pytest.mark.parametrize(
    ("epsilon", "delta", "loss", "said"),
    [
        ("0.3", "0", 0.30000000000000004, "0.3, the sum of epsilons, whenever you look"),
        (
            "0.3",
            "2e-9",
            0.30000000000000004,
            "0.3, the sum of epsilons, except with probability 2e-9, whenever you look",
        ),
        ("5", "0", 1.2341, "1.235 (epsilons add up to 5), except with probability 1e-6, whenever you look"),
        (None, "0", 0.4, "0.4, except with probability 1e-6, whenever you look"),
    ],
)
def test_what_was_lost_so_far_is_rounded_up_and_says_how_it_may_fail(
    epsilon: str | None, delta: str, loss: float, said: str
) -> None:
    state = AccountState("unit:patient", Decimal(9), Decimal("1e-6"), {"basic": 0.5}, 1)
    total = None if epsilon is None else Decimal(epsilon)
    ahead = Milestone(0.25, 0.01, 0.4321)
    spent = Spending(state.account, 3, total, Decimal(delta), loss, Decimal("1e-6"), ahead, Decimal("1e-6"))
    file = io.StringIO()
    terminal = console(file)

    write(budget((state,), terminal, spent={state.account: spent}), terminal=terminal)

    assert f"so far   loss at most {said}\n" in file.getvalue()
    assert (
        "all until its 25% milestone, still ahead, is (0.433, 1e-6)-differentially private" in file.getvalue()
    )
