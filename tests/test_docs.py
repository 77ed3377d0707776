"""Do the pages still say what the program does?"""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from dpsql.policy.load import load

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
WALKTHROUGHS = [ROOT / "README.md", ROOT / "docs" / "python.md", *sorted(ROOT.glob("docs/tutorials/*.md"))]
LINK = re.compile(r"\[[^\]]+\]\(([^)#]+?)(?:#[^)]*)?\)")
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def blocks(page: Path, language: str) -> list[str]:
    return [body for kind, body in BLOCK.findall(page.read_text("utf-8")) if kind == language]


def sessions(page: Path) -> Iterator[tuple[str, str]]:
    """(command, expected output) of each `$ dpsql ...` in the console blocks."""
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            joined = re.sub(r"\\\n\s*", "", part)
            command, _, output = joined.partition("\n")
            if command.startswith("dpsql "):
                yield command, output


def masked(text: str) -> list[str]:
    """The text without what noise changes: numbers, and the widths of columns and bars."""
    text = re.sub(r"-?\d[\d,]*(\.\d+)?(e-?\d+)?", "N", text)
    text = re.sub(r"[0-9a-f]{8,}", "H", text)
    text = re.sub(r"[█▏▎▍▌▋▊▉░]+", "#", text)
    text = re.sub(r"─+", "─", text)
    lines = (re.sub(r"\s+", " ", line).strip() for line in text.splitlines())
    return [line for line in lines if line]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A folder that looks like the root of the project, to leave ledgers in."""
    shutil.copytree(ROOT / "policies", tmp_path / "policies", ignore=shutil.ignore_patterns("*.ledger.db*"))
    (tmp_path / "sample_data").symlink_to(ROOT / "sample_data")
    return tmp_path


def test_generated_parts_follow_from_the_code() -> None:
    assert generator().drifted() == []


def test_a_changed_page_is_found_to_have_drifted(tmp_path: Path) -> None:
    module = generator()
    page = (ROOT / "docs" / "errors.md").read_text("utf-8").replace("| DP100 |", "| DP000 |")

    assert module.with_part(page, "errors", module.error_table()) != page


def test_the_readme_is_at_most_120_lines() -> None:
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= 120


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_somewhere(page: Path) -> None:
    targets = [target for target in LINK.findall(page.read_text("utf-8")) if "://" not in target]

    missing = [target for target in targets if not (page.parent / target).exists()]

    assert missing == []


def test_the_readme_says_what_connect_does_not_protect_from() -> None:
    text = (ROOT / "README.md").read_text("utf-8")

    assert "What it does not protect from" in text
    assert "`dpsql.connect` opens the database file itself" in text
    assert "authenticates nobody" in text


@pytest.mark.parametrize("page", WALKTHROUGHS, ids=lambda page: page.name)
def test_every_command_of_a_walkthrough_runs_and_prints_what_the_page_shows(
    page: Path, checkout: Path
) -> None:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"

    for command, expected in sessions(page):
        ran = subprocess.run(
            shlex.split(command), cwd=checkout, env=environment, capture_output=True, text=True, timeout=60
        )
        refused = re.match(r"DP\d", expected.strip()) is not None
        assert (ran.returncode == 0) is not refused, f"{command}\n{ran.stdout}{ran.stderr}"
        if expected.strip():
            assert masked(ran.stdout + ran.stderr) == masked(expected), command


@pytest.mark.parametrize("page", WALKTHROUGHS, ids=lambda page: page.name)
def test_every_python_example_of_a_walkthrough_runs(page: Path, checkout: Path) -> None:
    for number, program in enumerate(blocks(page, "python")):
        ran = subprocess.run(
            [sys.executable, "-W", "error", "-c", program],
            cwd=checkout,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert ran.returncode == 0, f"example {number} of {page.name}\n{ran.stderr}"


@pytest.mark.parametrize(
    "page", [ROOT / "README.md", ROOT / "docs" / "policy.md"], ids=lambda page: page.name
)
def test_every_policy_that_a_page_shows_whole_loads(page: Path, tmp_path: Path) -> None:
    whole = [block for block in blocks(page, "yaml") if block.startswith("version:")]

    assert whole
    for block in whole:
        path = tmp_path / "policy.yaml"
        path.write_text(block, "utf-8")
        assert load(path).tables
