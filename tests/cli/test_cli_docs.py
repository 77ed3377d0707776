"""Does docs/cli.md tell of every command, option and exit code, and of no other?"""

from __future__ import annotations

import re
from pathlib import Path

import click

from dpsql.cli.failure import EXIT_CODES
from dpsql.cli.main import commands, program

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "cli.md").read_text()


def _section(title: str) -> str:
    return TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]


def _options() -> set[str]:
    known = [program, *(command for _, command in commands())]
    named = (name for command in known for part in command.params for name in part.opts)
    return {name for name in named if name.startswith("-")} | {"--help", "-h"}


def test_every_command_is_documented_and_no_other() -> None:
    leaves = {name for name, command in commands() if not isinstance(command, click.Group)}

    documented = re.findall(r"^\| `dpsql ([a-z ]+?)(?: [A-Z]+)?` \|", _section("Commands"), re.MULTILINE)

    assert sorted(documented) == sorted(leaves)


def test_every_option_is_documented_and_no_other() -> None:
    first_cells = [line.split("|")[1] for line in _section("Options").splitlines() if line.startswith("| `")]

    assert set(re.findall(r"`(-[-a-z]+)`", " ".join(first_cells))) == _options()


def test_every_environment_variable_is_documented() -> None:
    known = [program, *(command for _, command in commands())]
    variables = {part.envvar for command in known for part in command.params if part.envvar}

    assert variables == set(re.findall(r"DPSQL_[A-Z]+", TEXT))


def test_every_exit_code_is_documented_with_its_meaning() -> None:
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", _section("Exit codes"), re.MULTILINE)

    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES


def test_every_command_and_option_has_a_help_text() -> None:
    for name, command in commands():
        assert command.help, name
        for part in command.params:
            assert isinstance(part, click.Argument) or getattr(part, "help", None), (name, part.name)
