"""Does every ending have its exit code, and none a traceback?"""

from __future__ import annotations

import logging
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dpsql.cli.main import OPERATOR_LOG, Program, commands, program
from tests.cli.conftest import Run

HEAVY = ("sqlglot", "duckdb", "numpy", "pydantic", "rich", "ruamel")
COMMAND = (sys.executable, "-m", "dpsql")


@pytest.mark.parametrize(
    ("arguments", "code", "error"),
    [
        (("query", "SELECT FROM WHERE"), 1, "DP100"),
        (("query", "SELECT nope FROM patients"), 1, "DP102"),
        (("query", "SELECT COUNT(*) FROM patients WHERE age > ?"), 1, "DP103"),
        (("query", "SELECT 1", "--format", "xml"), 2, "Usage:"),
        (("query", "SELECT COUNT(*) FROM patients", "--epsilon", "cheap"), 2, "Usage:"),
        (("query", "SELECT COUNT(*) FROM patients", "--epsilon", "nan"), 2, "Usage:"),
        (("query", "SELECT COUNT(*) FROM patients", "--policy", "absent.yaml"), 2, "DP400"),
        (("nonsense",), 2, "Usage:"),
        (("query", "SELECT * FROM patients"), 4, "DP203"),
        (("query", "SELECT COUNT(*) FROM patients", "--epsilon", "1.5"), 4, "DP210"),
        (("query", "SELECT COUNT(*) FROM patients", "--epsilon", "0"), 4, "DP215"),
        (("query", "SELECT COUNT(*) FROM patients", "--ledger", "/dev/null/x"), 5, "DP601"),
        (("ledger", "show", "--ledger", "absent.db"), 5, "DP601"),
        (("ledger", "verify", "--ledger", "absent.db"), 5, "DP601"),
        (("ledger", "verify", "--anchor", "7"), 2, "DP903"),
    ],
)
def test_an_error_has_the_exit_code_of_who_can_act_on_it(
    run: Run, arguments: tuple[str, ...], code: int, error: str
) -> None:
    result = run(*arguments)

    assert (result.exit_code, result.stdout) == (code, "")
    assert result.stderr.startswith(error)
    assert "Traceback" not in result.stderr


def test_a_query_beyond_the_budget_ends_with_3_and_says_what_still_fits(run: Run) -> None:
    for age in range(20):
        result = run("query", f"SELECT COUNT(*) FROM patients WHERE age > {age}", "--epsilon", "1")
        if result.exit_code:
            break

    assert result.exit_code == 3
    assert result.stderr.startswith("DP300 Account 'table:patients'")
    assert "hint:" in result.stderr


@pytest.mark.parametrize("arguments", [("query", "SELECT 1"), ("budget",), ("policy", "check")])
def test_no_policy_at_all_is_wrong_use(policy_file: Path, arguments: tuple[str, ...]) -> None:
    result = CliRunner().invoke(program, arguments)

    assert result.exit_code == 2
    assert "--policy FILE" in result.stderr


def test_a_position_is_shown_under_the_line_it_is_in(run: Run) -> None:
    result = run("query", "SELECT ward,\n\t     nope FROM patients")

    line, caret = result.stderr.splitlines()[2:4]
    assert line.index("nope") == caret.index("^")
    assert line.strip() == "nope FROM patients"


def test_the_caret_stays_in_sight_in_a_long_line(run: Run) -> None:
    result = run("query", f"SELECT {'COUNT(*), ' * 60} nope FROM patients")

    line, caret = result.stderr.splitlines()[2:4]
    assert len(line) < 120
    assert line.index("nope") == caret.index("^")


def _program() -> Program:
    group = Program()

    @group.command()
    def stop() -> None:
        raise RuntimeError("patient 17 has kuru")

    return group


def test_an_unforeseen_exception_shows_its_class_and_never_its_text() -> None:
    result = CliRunner().invoke(_program(), ["stop"])

    assert result.exit_code == 70
    assert "RuntimeError" in result.stderr
    assert "kuru" not in result.output
    assert len(result.stderr.splitlines()) == 1


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom dpsql.cli.main import program\n"
        "assert CliRunner().invoke(program, ['query', '--help']).exit_code == 0\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout == "[]\n"


def test_the_module_runs_like_the_command() -> None:
    result = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)

    assert result.stdout.startswith("dpsql, version")


def test_an_interrupt_ends_with_130_and_no_traceback(policy_file: Path) -> None:
    process = subprocess.Popen(
        [*COMMAND, "query", "-", "--policy", str(policy_file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    with process:
        _wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        _, narration = process.communicate(timeout=10)

    assert process.returncode == 130
    assert "Traceback" not in narration
    assert "Interrupted" in narration


def _wait_until_it_reads(pid: int) -> None:
    """Wait until a process has loaded the database library, after which it waits for its stdin."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if "duckdb" in Path(f"/proc/{pid}/maps").read_text() and "S" in _state(pid):
            time.sleep(0.3)
            return
        time.sleep(0.05)
    raise AssertionError("the program did not come to read its stdin")


def _state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_a_reader_that_goes_away_is_no_traceback(policy_file: Path) -> None:
    reading, writing = os.pipe()
    os.close(reading)

    result = subprocess.run(
        [*COMMAND, "policy", "schema"], stdout=writing, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writing)

    assert (result.returncode, result.stderr) == (141, "")


def test_a_terminal_without_unicode_gets_escapes_instead_of_a_failure(policy_file: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM patients"
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "NO_COLOR": "1"}

    result = subprocess.run(
        [*COMMAND, "query", sql, "--policy", str(policy_file)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert "\\xb1" in result.stdout


def test_the_operators_records_go_to_the_log_file_and_never_to_the_terminal(run: Run, tmp_path: Path) -> None:
    log, operator = tmp_path / "operator.log", logging.getLogger(OPERATOR_LOG)

    result = run("--log", str(log), "policy", "schema")
    operator.error("run of receipt 7 failed: OutOfMemoryException")
    operator.handlers[0].close()
    silent = run("policy", "schema")
    operator.error("run of receipt 8 failed: OutOfMemoryException")

    assert (result.exit_code, silent.exit_code) == (0, 0)
    assert log.read_text().endswith("ERROR run of receipt 7 failed: OutOfMemoryException\n")
    assert operator.propagate is False


@pytest.mark.parametrize("place", [".", "absent/operator.log", "/dev/null/x"])
def test_a_log_that_cannot_be_written_is_wrong_use_before_anything_is_charged(
    run: Run, policy_file: Path, place: str
) -> None:
    result = run("--log", str(policy_file.parent / place), "query", "SELECT COUNT(*) FROM patients")

    assert result.exit_code == 2
    assert not policy_file.with_name("ward.ledger.db").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_output_that_cannot_be_written_is_no_fault_of_the_program(policy_file: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM patients"
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(
            [*COMMAND, "query", sql, "--policy", str(policy_file)],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert result.returncode == 5
    assert "No space left on device" in result.stderr
    assert "fault of its own" not in result.stderr


def test_a_broken_ledger_has_one_exit_code_in_all_commands(run: Run, policy_file: Path) -> None:
    run("query", "SELECT COUNT(*) FROM patients")
    with sqlite3.connect(policy_file.with_name("ward.ledger.db")) as store:
        store.execute("UPDATE state SET value = '9' WHERE kind = 'head'")
    store.close()

    asked = run("query", "SELECT COUNT(*) FROM patients WHERE age > 3")
    verified = run("ledger", "verify")

    assert asked.stderr.startswith("DP600")
    assert (asked.exit_code, verified.exit_code) == (6, 6)


def test_every_command_that_a_message_names_is_a_real_one() -> None:
    source = Path(__file__).resolve().parents[2] / "dpsql"
    texts = [file.read_text("utf-8") for file in source.rglob("*") if file.suffix in (".py", ".j2")]
    known = {name for name, _ in commands()}
    groups = {name for name, command in commands() if isinstance(command, click.Group)}

    named = [words for text in texts for words in re.findall(r"`dpsql ([a-z]+(?: [a-z]+)?)", text)]

    assert len(named) > 10
    for words in named:
        first = words.split()[0]
        assert (words if first in groups else first) in known | groups, words
