"""Does the demo show a price, answers, budgets and a refusal?"""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from dpsql.cli import demo
from dpsql.cli.main import program
from sample_data.make_clinic import RARE_DIAGNOSIS, build

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("clinic")
    build(folder / "clinic.duckdb")
    text = (ROOT / "policies" / "clinic.yaml").read_text()
    policy = folder / "clinic.yaml"
    policy.write_text(text.replace("../sample_data/clinic.duckdb", "clinic.duckdb"))
    return policy


def test_the_demo_tells_its_story_and_leaves_no_ledger(clinic: Path) -> None:
    result = CliRunner().invoke(program, ["demo", "--policy", str(clinic)])

    assert (result.exit_code, result.stderr) == (0, "")
    for part in (
        "This query costs epsilon 0.5",
        "Cedar",
        "cardiology",
        "hypertension",
        "unit:patient",
        "DP203",
    ):
        assert part in result.stdout
    assert result.stdout.count("±") > 15
    assert RARE_DIAGNOSIS not in result.stdout
    assert sorted(path.name for path in clinic.parent.iterdir()) == ["clinic.duckdb", "clinic.yaml"]


def test_the_command_at_the_end_runs_where_the_reader_is(
    clinic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clinic.parent)
    demonstrated = CliRunner().invoke(program, ["demo", "--policy", str(clinic)])

    command = demonstrated.stdout.splitlines()[-1]
    result = subprocess.run(
        [*shlex.split(command), "--ledger", ":memory:"],
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert " -p clinic.yaml " in command
    assert result.returncode == 0, result.stderr
    assert "This query costs" in result.stdout


def test_without_the_sample_data_the_demo_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo, "_ROOT", tmp_path)
    monkeypatch.delenv("DPSQL_POLICY", raising=False)

    result = CliRunner().invoke(program, ["demo"])

    assert result.exit_code == 2
    assert "make demo" in result.stderr
