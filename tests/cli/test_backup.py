"""Can an owner bring a lost ledger back without forgetting what was spent?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

COUNT = "SELECT COUNT(*) AS n FROM patients"
OLDER = "SELECT COUNT(*) AS n FROM patients WHERE age > 50"


@pytest.fixture
def ledger(policy_file: Path) -> Path:
    return policy_file.with_name("ward.ledger.db")


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return tmp_path / "copy.db"


def test_a_whole_backup_is_restored_with_what_was_left(run: Run, ledger: Path, copy: Path) -> None:
    run("query", COUNT)
    before = run("budget", "--format", "json").stdout
    head = run("ledger", "backup", str(copy)).stderr.split()[-1]
    ledger.unlink()

    restored = run("ledger", "restore", str(copy), "--anchor", head)

    assert restored.exit_code == 0, restored.stderr
    assert run("budget", "--format", "json").stdout == before
    assert run("query", OLDER).exit_code == 0
    assert run("ledger", "verify").exit_code == 0


def test_a_backup_with_a_gap_is_restored_only_after_a_yes_and_then_all_is_spent(
    run: Run, ledger: Path, copy: Path
) -> None:
    run("query", COUNT)
    run("ledger", "backup", str(copy))
    ledger.unlink()

    declined = run("ledger", "restore", str(copy), input="n\n")
    absent = not ledger.exists()
    accepted = run("ledger", "restore", str(copy), "--yes")
    refused = run("query", OLDER)
    report = json.loads(run("ledger", "export", "--format", "json").stdout)

    assert (declined.exit_code, absent) == (130, True)
    assert accepted.exit_code == 0
    assert refused.exit_code == 3
    assert report["owner"][-1] == {**report["owner"][-1], "what": "restored", "lost": None}
    assert report["accounts"][0]["loss_so_far"] == 2.0
    assert "every budget counts as spent" in run("ledger", "export").stdout
    assert "restored, budgets count as spent" in run("ledger", "show", "--format", "csv").stdout


def test_a_ledger_that_is_there_is_not_overwritten(run: Run, ledger: Path, copy: Path) -> None:
    run("query", COUNT)
    run("ledger", "backup", str(copy))

    again = run("ledger", "backup", str(copy))
    restored = run("ledger", "restore", str(copy), "--yes")

    assert (again.exit_code, restored.exit_code) == (5, 5)
    assert "Move it away first" in restored.stderr


def test_an_anchor_file_shows_an_old_copy_before_the_first_charge(
    run: Run, ledger: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anchor = tmp_path / "anchor"
    monkeypatch.setenv("DPSQL_ANCHOR", str(anchor))
    run("query", COUNT)
    run("ledger", "backup", str(copy))
    run("query", OLDER)
    ledger.write_bytes(copy.read_bytes())

    refused = run("query", "SELECT COUNT(*) AS n FROM patients WHERE age > 60")
    ledger.unlink()
    restored = run("ledger", "restore", str(copy), "--yes")
    spent = run("query", OLDER)

    assert anchor.read_text().startswith("4:")
    assert (refused.exit_code, refused.stderr[:5]) == (6, "DP600")
    assert restored.exit_code == 0, restored.stderr
    assert spent.exit_code == 3


def test_the_anchor_file_is_an_option_of_the_program(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DPSQL_ANCHOR", "")
    anchor = tmp_path / "anchor"

    result = run("--anchor-file", str(anchor), "query", COUNT)

    assert result.exit_code == 0, result.stderr
    assert anchor.read_text().startswith("2:")
