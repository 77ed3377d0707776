"""Does a source that is not what it seems fool the engine? Each was found by somebody who tried."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import pytest

from dpsql.errors import Error, OperationalError, PolicyError
from dpsql.mechanisms import SilentSampler
from dpsql.session import Session

POLICY = """
version: 1
id: traps
source: {source}
privacy_unit: {{name: user}}
per_query: {{epsilon: 0.5, delta: 0}}
tables:
  {table}:
    unit: u
    budget: {{epsilon: 10, delta: 0}}
    max_rows: 1
    columns:
      u: {{type: integer}}
      g: {{type: text, domain: [a, b]}}
      x: {{type: double, bounds: [0, 10], step: 0.5}}
"""
ROWS = [(number, "ab"[number % 2], number % 10) for number in range(40)]


def policy(folder: Path, source: str, table: str = "people") -> Path:
    path = folder / "traps.yaml"
    path.write_text(POLICY.format(source=source, table=table), "utf-8")
    return path


def counted(path: Path) -> list[object]:
    with Session.open(path, ":memory:", noise=SilentSampler()) as session:
        return list(session.answer("SELECT g, COUNT(*), SUM(x) FROM people GROUP BY g").rows)


def write_csv(folder: Path, rows: list[tuple[object, ...]]) -> Path:
    (folder / "files").mkdir(exist_ok=True)
    with (folder / "files" / "people.csv").open("w", encoding="utf-8", newline="") as opened:
        csv.writer(opened).writerows([("u", "g", "x"), *rows])
    return policy(folder, "files")


@pytest.mark.parametrize(
    "odd",
    [
        (99, 'a;b;"c', 1),
        (99, "a\nb\nc", 1),
        (99, "'a'|'b'", 1),
        (99, "# a comment", 1),
        (99, "x" * 3_000_000, 1),
        ("u", "g", "x"),
        (99, "a\\", "1e400"),
    ],
    ids=["other delimiters", "newlines", "quotes", "comment", "huge", "a second header", "escapes"],
)
def test_one_row_of_a_csv_does_not_change_how_the_others_are_read(
    tmp_path: Path, odd: tuple[object, ...]
) -> None:
    without = counted(write_csv(tmp_path, list(ROWS)))

    with_odd = counted(write_csv(tmp_path, [*ROWS, odd]))

    assert with_odd == without, "its group is no public one, so its row is dropped and no other changes"


def test_a_csv_without_a_header_of_distinct_names_is_refused(tmp_path: Path) -> None:
    path = write_csv(tmp_path, list(ROWS))
    (tmp_path / "files" / "people.csv").write_text("u,U,x\n1,2,3\n", "utf-8")

    with pytest.raises(OperationalError, match="DP501"):
        counted(path)


def database(folder: Path, *statements: str) -> Path:
    with duckdb.connect(str(folder / "traps.duckdb")) as connection:
        connection.execute("CREATE TABLE base (u INTEGER, g VARCHAR, x DOUBLE)")
        connection.executemany("INSERT INTO base VALUES (?, ?, ?)", ROWS)
        for statement in statements:
            connection.execute(statement)
    return policy(folder, "traps.duckdb")


def test_a_view_of_a_database_is_no_table_of_people(tmp_path: Path) -> None:
    path = database(tmp_path, "CREATE VIEW people AS SELECT u, g, row_number() OVER () AS x FROM base")

    with pytest.raises(PolicyError, match="is a view"):
        counted(path)


def test_a_database_that_redefines_functions_is_refused(tmp_path: Path) -> None:
    path = database(tmp_path, "CREATE TABLE people AS FROM base", "CREATE MACRO floor(a) AS 0")

    with pytest.raises(OperationalError, match="floor"):
        counted(path)


def test_a_public_view_that_cannot_run_is_an_error_of_ours(tmp_path: Path) -> None:
    path = database(
        tmp_path,
        "CREATE TABLE people AS FROM base",
        "CREATE TABLE gone AS SELECT 1 AS a",
        "CREATE VIEW places AS FROM gone",
        "DROP TABLE gone",
    )
    public = "\n  places: {public: true, columns: {a: {type: integer}}}\n"
    path.write_text(path.read_text("utf-8").rstrip() + public, "utf-8")

    with pytest.raises(Error):
        counted(path)


@pytest.mark.parametrize(
    "name", ["rows", "weights", "noise", "exact", "arrived", "released", "groups", "cells"]
)
def test_a_table_may_have_the_name_of_a_step_of_ours(tmp_path: Path, name: str) -> None:
    database(tmp_path, f"CREATE TABLE {name} AS FROM base")

    with Session.open(policy(tmp_path, "traps.duckdb", name), ":memory:", noise=SilentSampler()) as session:
        answer = session.answer(f"SELECT g, COUNT(*), COUNT(DISTINCT u) FROM {name} GROUP BY g").rows

    assert answer == [("a", 20, 20), ("b", 20, 20)]


@pytest.mark.parametrize("change", [("  people:", "  _people:"), ("      x:", '      "#x":')])
def test_names_of_our_own_are_refused_by_the_policy(tmp_path: Path, change: tuple[str, str]) -> None:
    path = database(tmp_path, "CREATE TABLE people AS FROM base")
    path.write_text(path.read_text("utf-8").replace(*change), "utf-8")

    with pytest.raises(PolicyError, match="are kept for dpsql's own"):
        counted(path)
