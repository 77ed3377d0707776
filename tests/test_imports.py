"""Do the import contracts hold, and would they be noticed if they did not?"""

from __future__ import annotations

import ast
import importlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
HEAVY = ("duckdb", "numpy", "pydantic", "sqlglot")

ONE_WAY = "Data flows one way: text -> analysis -> plan -> charge -> engine -> interfaces"
COST_FIRST = "Costs are decided before data is read"
NOISY_ONLY = "Post-processing sees noisy values only"
NO_DATABASE = "Interfaces hold a Session, never a database"
BORDER = "pydantic and click stay at the border"

# Every layer imports the one above it, and siblings import each other: (importer, imported).
UPWARD = (
    ("dpsql.errors", "dpsql.accounting"),
    ("dpsql.accounting", "dpsql.policy"),
    ("dpsql.policy", "dpsql.sql"),
    ("dpsql.policy", "dpsql.mechanisms"),
    ("dpsql.sql", "dpsql.mechanisms"),
    ("dpsql.mechanisms", "dpsql.sql"),
    ("dpsql.sql", "dpsql.analysis"),
    ("dpsql.mechanisms", "dpsql.analysis"),
    ("dpsql.analysis", "dpsql.plan"),
    ("dpsql.plan", "dpsql.ledger"),
    ("dpsql.ledger", "dpsql.engine"),
    ("dpsql.engine", "dpsql.session"),
    ("dpsql.session", "dpsql.dbapi"),
    ("dpsql.session", "dpsql.cli"),
    ("dpsql.dbapi", "dpsql.cli"),
    ("dpsql.cli", "dpsql.dbapi"),
)
FORBIDDEN = (
    *(
        (f"dpsql.{package}", "duckdb", COST_FIRST)
        for package in ("policy", "sql", "analysis", "accounting", "mechanisms", "plan", "ledger")
    ),
    *(
        (f"dpsql.engine.{module}", f"dpsql.engine.{private}", NOISY_ONLY)
        for module in ("postprocess", "release")
        for private in ("duckdb", "rewrite", "backend")
    ),
    *(
        (interface, database, NO_DATABASE)
        for interface in ("dpsql.cli", "dpsql.dbapi")
        for database in ("duckdb", "dpsql.engine.duckdb", "dpsql.engine.rewrite")
    ),
    *(
        (f"dpsql.{package}", library, BORDER)
        for package in ("sql", "analysis", "accounting", "mechanisms", "plan", "ledger", "engine", "errors")
        for library in ("pydantic", "click")
    ),
)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A copy of the package and of its configuration, to be broken."""
    shutil.copytree(ROOT / "dpsql", tmp_path / "dpsql", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(tool: str, *arguments: str, at: Path) -> tuple[int, str]:
    done = subprocess.run([BIN / tool, *arguments], cwd=at, capture_output=True, text=True, check=False)
    # Long lines are wrapped to the width of a terminal; one space between words makes them findable.
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def lint_imports(at: Path) -> tuple[int, str]:
    return run("lint-imports", "--no-cache", "--no-logo", at=at)


def file_of(project: Path, module: str) -> Path:
    path = project.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def add_import(project: Path, importer: str, imported: str) -> None:
    with file_of(project, importer).open("a", encoding="utf-8") as file:
        file.write(f"\nimport {imported}\n")


def test_every_import_contract_is_kept() -> None:
    code, report = lint_imports(ROOT)

    assert code == 0, report
    assert "0 broken" in report


def test_an_import_against_the_flow_of_data_is_reported_for_every_pair_of_layers(project: Path) -> None:
    for importer, imported in UPWARD:
        add_import(project, importer, imported)

    code, report = lint_imports(project)

    assert code == 1
    assert f"{ONE_WAY} BROKEN" in report
    assert [pair for pair in UPWARD if f"- {pair[0]} -> {pair[1]} (l." not in report] == []


def test_every_forbidden_import_is_reported_under_the_contract_that_forbids_it(project: Path) -> None:
    for importer, imported, _ in FORBIDDEN:
        add_import(project, importer, imported)

    code, report = lint_imports(project)

    assert code == 1
    assert [
        name for name in (COST_FIRST, NOISY_ONLY, NO_DATABASE, BORDER) if f"{name} BROKEN" not in report
    ] == []
    assert [case for case in FORBIDDEN if f"- {case[0]} -> {case[1]} (l." not in report] == []


@pytest.mark.parametrize("contract", [ONE_WAY, COST_FIRST, NOISY_ONLY, NO_DATABASE, BORDER])
def test_the_configuration_names_the_contract(contract: str) -> None:
    assert f'name = "{contract}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "line",
    [
        "import random",
        "import numpy.random",
        "from numpy import random",
        "import secrets",
        "from os import urandom",
    ],
)
def test_randomness_outside_the_sampler_is_reported(project: Path, line: str) -> None:
    module = project / "dpsql" / "mechanisms" / "laplace.py"
    module.write_text(f'"""Where would noise come from?"""\n\n{line}\n', encoding="utf-8")

    code, report = run("ruff", "check", "--no-cache", str(module), at=project)

    assert code == 1
    assert "TID251" in report


def test_the_sampler_may_draw_entropy(project: Path) -> None:
    sampler = project / "dpsql" / "mechanisms" / "sampler.py"

    code, report = run("ruff", "check", "--no-cache", "--select", "TID251", str(sampler), at=project)

    assert "os.urandom" in sampler.read_text(encoding="utf-8")
    assert code == 0, report


def test_no_module_imports_a_predictable_generator() -> None:
    predictable = {"random", "numpy.random"}

    found = [
        (module.name, name)
        for module in modules()
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        for name in imported_names(node)
        if name in predictable
    ]

    assert found == []


def test_an_unsorted_list_of_public_names_is_reported(project: Path) -> None:
    module = project / "dpsql" / "plan" / "__init__.py"
    module.write_text('"""What will be done?"""\n\na = b = 1\n\n__all__ = ["b", "a"]\n', encoding="utf-8")

    code, report = run("ruff", "check", "--no-cache", str(module), at=project)

    assert code == 1
    assert "RUF022" in report


def test_no_module_goes_to_an_interface_by_way_of_the_root_package() -> None:
    lazy = {"dpsql", "dpsql.connect", "dpsql.Connection", "dpsql.Cursor"}
    cli = ROOT / "dpsql" / "cli"

    found = [
        (str(module.relative_to(ROOT)), name)
        for module in modules()
        if module != ROOT / "dpsql" / "__init__.py" and cli not in module.parents
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        for name in imported_names(node)
        if name in lazy and not names_a_module(node)
    ]

    assert found == []


def packages() -> list[str]:
    folders = sorted(path.parent for path in (ROOT / "dpsql").rglob("__init__.py"))
    return [".".join(folder.relative_to(ROOT).parts) for folder in folders]


@pytest.mark.parametrize("package", packages())
def test_a_package_has_every_public_name_it_lists_once(package: str) -> None:
    module = importlib.import_module(package)
    listed: list[str] = getattr(module, "__all__", [])

    missing = [name for name in listed if not hasattr(module, name)]

    assert missing == []
    assert len(set(listed)) == len(listed)


def imported_names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def names_a_module(node: ast.AST) -> bool:
    """Whether the node is `from dpsql import errors` or the like, which never asks the root for a name."""
    return (
        isinstance(node, ast.ImportFrom)
        and node.module == "dpsql"
        and all(file_of(ROOT, f"dpsql.{alias.name}").exists() for alias in node.names)
    )


def modules() -> list[Path]:
    return sorted((ROOT / "dpsql").rglob("*.py"))


@pytest.mark.parametrize("module", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_says_what_question_it_answers_and_imports_by_full_name(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))

    relative = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level]
    starred = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]

    assert ast.get_docstring(tree)
    assert relative == []
    assert starred == []


def test_asking_for_help_loads_no_heavy_library() -> None:
    program = f"""
import sys
from dpsql.cli.main import main
sys.argv = ["dpsql", "--help"]
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
print("loaded:", [name for name in {HEAVY!r} if name in sys.modules])
"""

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "loaded: []"


def test_importing_dpsql_loads_no_heavy_library() -> None:
    program = f"import sys, dpsql; print([name for name in {HEAVY!r} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"
