"""Does an owner see everything in which a policy and its source differ, at once and at its place?"""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from dpsql import errors
from dpsql.engine.duckdb import DuckDBBackend
from dpsql.errors import OperationalError, PolicyError
from dpsql.mechanisms.sampler import SilentSampler
from dpsql.policy import Policy, load
from dpsql.session import Session, Terms

POLICY = """\
version: 1
id: people
source: data
privacy_unit: {name: user}
tables:
  people:
    unit: user_id
    budget: {epsilon: 1, delta: 0}
    max_rows: 1
    columns:
      user_id: {type: integer}
      region: {type: text, domain: areas.area}
      income: {type: double, bounds: [0, 9]}
  areas:
    public: true
    columns: {area: {type: text, unique: true}}
"""
PEOPLE = "user_id,region,income\n1,north,5\n2,south,6\n"
AREAS = "area\nnorth\nsouth\n"


def owner(folder: Path, text: str = POLICY, **files: str | bytes) -> Policy:
    """A policy beside a folder `data` with these files; `__` in a name stands for its dot."""
    (folder / "data").mkdir()
    for name, content in {"people__csv": PEOPLE, "areas__csv": AREAS, **files}.items():
        if content:
            data = content if isinstance(content, bytes) else content.encode()
            (folder / "data" / name.replace("__", ".")).write_bytes(data)
    (folder / "people.yaml").write_text(text)
    return load(folder / "people.yaml")


def native(folder: Path, sql: str, text: str = POLICY) -> Policy:
    with duckdb.connect(str(folder / "data")) as connection:
        connection.execute(sql)
    (folder / "people.yaml").write_text(text)
    return load(folder / "people.yaml")


def refused(policy: Policy) -> PolicyError:
    with pytest.raises(PolicyError) as caught:
        DuckDBBackend(policy)
    assert caught.value.code is errors.POLICY_DATA
    return caught.value


def unreadable(policy: Policy) -> str:
    with pytest.raises(OperationalError) as caught:
        DuckDBBackend(policy)
    assert caught.value.code is errors.SOURCE
    return str(caught.value)


def test_a_folder_that_holds_what_the_policy_says_opens(tmp_path: Path) -> None:
    DuckDBBackend(owner(tmp_path)).close()


def test_every_difference_is_shown_at_once_at_its_place_with_the_name_that_may_be_meant(
    tmp_path: Path,
) -> None:
    policy = native(
        tmp_path,
        "CREATE TABLE people (user_id INTEGER, region VARCHAR, income VARCHAR);"
        "CREATE TABLE areas (area VARCHAR); INSERT INTO areas VALUES ('n'), ('n'), ('n'), (NULL), (NULL)",
        POLICY.replace("      region:", "      regoin:"),
    )

    found = refused(policy).faults

    places = [(fault.line, fault.column, fault.message, fault.suggestion) for fault in found]
    assert places == [
        (12, 7, "table `people` of the source has no column `regoin`", "did you mean `region`?"),
        (13, 22, "`people.income` is VARCHAR in the source, not double", None),
        (16, 42, "`areas.area` is not unique: 2 rows repeat a value", None),
    ]
    assert found[0].file == str(tmp_path / "people.yaml")
    assert found[0].source_line == "      regoin: {type: text, domain: areas.area}"


def test_a_missing_table_comes_with_the_tables_that_are_there(tmp_path: Path) -> None:
    close = refused(owner(tmp_path, people__csv="", peeple__csv=PEOPLE))
    (tmp_path / "other").mkdir()
    far = refused(owner(tmp_path / "other", people__csv="", x__csv=PEOPLE))

    assert "did you mean `peeple`? (tables of the source: `areas`, `peeple`)" in str(close)
    assert close.faults[0].line == 6
    assert "check the name (tables of the source: `areas`, `x`)" in str(far)


def test_an_empty_folder_holds_no_tables(tmp_path: Path) -> None:
    error = refused(owner(tmp_path, people__csv="", areas__csv=""))

    assert len(error.faults) == 2
    assert "(tables of the source: none)" in str(error)


def test_what_has_the_name_of_a_table_but_is_none_is_named(tmp_path: Path) -> None:
    policy = owner(tmp_path, people__csv="", people__csv__gz=b"\x1f\x8b", areas__csv="")
    (tmp_path / "data" / "areas").mkdir()

    error = refused(policy)

    assert "`people.csv.gz` is compressed, and only .csv and .parquet are read: unpack it" in str(error)
    assert "`areas` is a sub-folder, and sub-folders are not read: make it one file" in str(error)


def test_a_table_in_another_schema_is_said_to_be_there(tmp_path: Path) -> None:
    error = refused(
        native(
            tmp_path,
            "CREATE SCHEMA raw; CREATE TABLE raw.people (user_id INTEGER);CREATE TABLE areas (area VARCHAR)",
        )
    )

    assert "it is in schema `raw`, and only schema `main` is read" in str(error)


def test_a_csv_without_a_header_shows_none_of_its_first_row(tmp_path: Path) -> None:
    error = refused(owner(tmp_path, people__csv="4711,north,5\n4712,south,6\n"))

    assert "no column of `people` is in the first line of its CSV file" in str(error)
    assert "4711" not in str(error)


def test_two_files_that_would_be_one_table_are_named(tmp_path: Path) -> None:
    text = unreadable(owner(tmp_path, people__parquet=b"PAR1"))

    assert "people.csv and people.parquet would both be the table 'people': keep one of them" in text


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    text = unreadable(
        owner(tmp_path, people__csv="", people__parquet=b"PAR1 no", areas__csv=AREAS.encode("utf-16"))
    )

    assert "people.parquet is damaged or not what its name says" in text
    assert "areas.csv is UTF-16: save it as UTF-8" in text


def test_files_that_the_policy_does_not_name_are_not_opened(tmp_path: Path) -> None:
    DuckDBBackend(owner(tmp_path, broken__parquet=b"PAR1 no", areas__txt="x")).close()


def test_a_file_as_the_source_is_said_to_need_its_folder(tmp_path: Path) -> None:
    text = unreadable(owner(tmp_path, POLICY.replace("source: data", "source: data/people.csv")))

    assert "Name the folder of the file" in text


def test_a_policy_without_a_file_has_keys_for_places(tmp_path: Path) -> None:
    stored = owner(tmp_path, areas__csv="area\nx\nx\n")
    policy = Policy.model_validate(
        {**stored.model_dump(exclude={"tables"}), "source": str(tmp_path / "data"), "tables": stored.tables}
    )

    error = refused(policy)

    assert error.faults == ()
    assert "tables.areas.columns.area.unique: `areas.area` is not unique: a row repeats a value" in str(error)


def test_a_policy_file_that_is_gone_since_has_keys_for_places(tmp_path: Path) -> None:
    policy = owner(tmp_path, areas__csv="area\nx\nx\n")
    (tmp_path / "people.yaml").unlink()

    assert "tables.areas.columns.area.unique" in str(refused(policy))


def test_a_csv_line_is_skipped_if_it_is_too_short_and_a_field_of_the_wrong_type_is_null(
    tmp_path: Path,
) -> None:
    lines = "user_id,region,income\n1,north,5\n2,south,much\n3,north\n4,north,5,6\n5,n\xe9,1\n"
    policy = owner(tmp_path, people__csv=lines.encode("latin-1"))
    session = Session.open(policy, ":memory:", noise=SilentSampler())

    sql = "SELECT COUNT(*), COUNT(income) FROM people WHERE region <> ''"
    rows = session.answer(sql, (), Terms(epsilon=Decimal(1))).rows

    assert rows == [(3, 2)]
    session.close()


def test_texts_that_a_collation_holds_equal_are_two_values(tmp_path: Path) -> None:
    policy = native(
        tmp_path,
        "CREATE TABLE areas (area VARCHAR COLLATE NOCASE); INSERT INTO areas VALUES ('n'), ('N');"
        "CREATE TABLE people AS SELECT 1 AS user_id, 'n' AS region, 1.0::DOUBLE AS income",
    )

    session = Session.open(policy, ":memory:", noise=SilentSampler())

    assert session.answer("SELECT area FROM areas ORDER BY area").rows == [("N",), ("n",)]
    session.close()


@pytest.mark.parametrize("stray", ["2,so\ruth,6\n", "2,south,6\r\n", '2,so"uth,6\n'])
def test_a_stray_character_in_one_row_of_a_csv_does_not_fail_the_query(tmp_path: Path, stray: str) -> None:
    policy = owner(tmp_path, people__csv=f"user_id,region,income\n1,north,5\n{stray}3,north,7\n")
    session = Session.open(policy, ":memory:", noise=SilentSampler())

    sql = "SELECT COUNT(*) FROM people WHERE region = 'north'"
    rows = session.answer(sql, (), Terms(epsilon=Decimal(1))).rows

    assert rows == [(2,)]
    session.close()


@pytest.mark.parametrize("text", ["\n", "user_id,,income\n", "user_id,region,Region\n", '"user_id\n'])
def test_a_csv_that_does_not_begin_with_column_names_is_named(tmp_path: Path, text: str) -> None:
    message = unreadable(owner(tmp_path, people__csv=text))

    assert "people.csv does not begin with a line of distinct column names" in message


def test_a_csv_of_semicolons_is_told_that_commas_part_names(tmp_path: Path) -> None:
    error = refused(owner(tmp_path, people__csv=PEOPLE.replace(",", ";")))

    assert "the names of the columns, parted by commas" in str(error)
