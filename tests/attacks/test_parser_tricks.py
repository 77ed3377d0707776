"""Attack: a text that the checker and the database read differently, or that exhausts the reader."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final

import duckdb
import pytest

from dpsql import errors
from dpsql.mechanisms import SilentSampler
from dpsql.session import Session
from dpsql.sql.parse import MAX_BYTES
from tests.reference.clinic import Database

COUNT: Final = "SELECT COUNT(*) FROM patients WHERE "


@pytest.fixture(scope="module")
def session(hospital: Database) -> Iterator[Session]:
    with hospital.session(noise=SilentSampler()) as opened:
        yield opened


def refusal(session: Session, sql: str) -> str:
    with pytest.raises(errors.Error) as caught:
        session.answer(sql)
    assert isinstance(caught.value, errors.NotSupportedError | errors.ProgrammingError)
    return caught.value.code.name


def exact(session: Session, sql: str) -> object:
    return session.answer(sql).rows[0][0]


def test_a_number_that_the_lexer_swallows_is_refused(session: Session) -> None:
    """sqlglot lexes `1e0+5` as one literal and DuckDB computes 6."""
    assert refusal(session, COUNT + "age > 1e0+5") == "DP100"
    assert exact(session, COUNT + "age > 1e0 + 5") == exact(session, COUNT + "age > 6")


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("age > /* 99 */ 50", "age > 50"),
        ("age > 50 -- OR TRUE", "age > 50"),
        ("age > /* /* nested */ 99 -- */ 50\n 50", "age > 50"),
        ("hospital = 'Alder'' OR TRUE --'", "FALSE"),
        ("hospital = $$Alder$$", "hospital = 'Alder'"),
        ("hospital = $tag$Al$$der' OR TRUE --$tag$", "FALSE"),
        ("hospital = E'Al\\x64er'", "FALSE"),
        ("hospital = 'Al' 'der'", "hospital = 'Alder'"),
        ("hospital = 'a\\' OR sex = 'F'", "sex = 'F'"),
        ("age > 0x20", "age > 32"),
        ("age > 5_0", "age > 50"),
        ("age > 50.", "age > 50"),
        ("NOT age <= 50 = TRUE", "age > 50"),
        ("age BETWEEN 50 AND 60 AND TRUE", "age >= 50 AND age <= 60"),
        ("- - age > 50", "age > 50"),
        ("age > 2 + 3 * 10 - 4 - 3", "age > 25"),
        ("age // 7 * 7 = age", "age % 7 = 0"),
        ("age % 10 / 2 > 4", "age % 10 > 8"),
        ("sex = 'F' OR sex = 'M' AND age > 50", "sex = 'F' OR (sex = 'M' AND age > 50)"),
        ("age IS NULL = FALSE", "age IS NOT NULL"),
    ],
)
def test_a_trick_means_what_the_database_reads_or_is_refused(
    session: Session, hospital: Database, written: str, plain: str
) -> None:
    """The reference is DuckDB's own reading of the analyst's text."""
    theirs = hospital.backend._connection.execute(COUNT + plain).fetchall()[0][0]

    try:
        mine = exact(session, COUNT + written)
    except (errors.NotSupportedError, errors.ProgrammingError):
        return
    assert mine == theirs


def test_a_name_given_to_rows_of_people_does_not_make_them_public(session: Session) -> None:
    assert refusal(session, "WITH hospitals AS (SELECT * FROM patients) SELECT * FROM hospitals") == "DP214"
    assert refusal(session, "SELECT * FROM (SELECT * FROM patients) hospitals") == "DP214"
    assert refusal(session, "SELECT hospitals.cost FROM patients AS hospitals") == "DP203"


def test_a_public_table_under_a_private_name_stays_public(session: Session) -> None:
    release = session.answer("SELECT patients.city FROM hospitals AS patients ORDER BY 1")

    assert release.receipt is None
    assert release.rows[0] == ("Eastmere",)


def test_a_statement_after_a_statement_is_never_run(session: Session) -> None:
    assert refusal(session, "SELECT COUNT(*) FROM patients; DROP TABLE patients") == "DP200"
    assert refusal(session, "SELECT COUNT(*) FROM patients;;SELECT * FROM patients") == "DP200"
    assert exact(session, "SELECT COUNT(*) FROM patients;") == 400


@pytest.mark.parametrize(
    "deep",
    [
        "(" * 5000 + "1" + ")" * 5000,
        "[" * 5000,
        "{'a': " * 3000,
        "NOT " * 5000 + "TRUE",
        "- " * 5000 + "1",
        "~" * 5000 + "1",
        "CASE WHEN " * 3000,
        "ABS(" * 3000,
        "(SELECT " * 3000,
        "CAST(" * 3000,
        "x -> " * 3000 + "1",
        "'a' || " * 3000 + "'a'",
        "a." * 3000 + "a",
        "1" + "::INT" * 3000,
        "1" + " + 1" * 5000,
        "1" + " - 1" * 450,
        "TRUE" + " AND TRUE" * 900,
        "TRUE" + " OR age > 1" * 350,
        "1" + " IS NULL" * 2000,
        "age IN (" + "1, " * 20_000 + "1)",
        "1 = 1 QUALIFY " * 500 + "1",
    ],
    ids=lambda deep: deep[:12].strip(),
)
def test_no_depth_and_no_length_exhausts_the_reader(session: Session, deep: str) -> None:
    assert refusal(session, f"{COUNT}{deep} = 1") in ("DP100", "DP104", "DP107", "DP201", "DP205", "DP214")
    assert sys.getrecursionlimit() <= 1000, "the limit is not moved to make room"


def test_a_chain_below_the_limit_is_answered_from_deep_inside_a_program(session: Session) -> None:
    """Sessions are used from frameworks whose own stack is deep."""
    chain = " OR ".join(f"age = {age}" for age in range(90))

    def nested(level: int) -> object:
        return nested(level - 1) if level else exact(session, COUNT + chain)

    assert nested(200) == exact(session, f"{COUNT}age < 90")


def test_many_selects_in_a_row_are_refused(session: Session) -> None:
    assert refusal(session, " UNION ALL ".join(["SELECT COUNT(*) FROM patients"] * 900)) in ("DP107", "DP200")


def test_a_text_of_64_kib_is_read_and_a_longer_one_is_not(session: Session) -> None:
    sql = "SELECT COUNT(*) FROM patients"

    assert exact(session, sql + " " * (MAX_BYTES - len(sql))) == 400
    assert refusal(session, sql + " " * (MAX_BYTES - len(sql) + 1)) == "DP107"
    assert refusal(session, f"{COUNT}diagnosis = '{'é' * (MAX_BYTES // 2)}'") == "DP107"


@pytest.mark.parametrize("char", ["\0", "\x1b", "\x7f", "\u202e", "\u00a0", "\ufeff", "\u2028", "\uff07"])
def test_a_strange_character_is_refused_or_stays_inside_its_quotes(
    session: Session, hospital: Database, char: str
) -> None:
    for sql in (f"{COUNT}age >{char}50", f"{COUNT}hospital = 'Alder{char}'"):
        try:
            found = exact(session, sql)
        except (errors.NotSupportedError, errors.ProgrammingError):
            continue
        assert found == read_by_duckdb(hospital, sql)


def read_by_duckdb(hospital: Database, sql: str) -> object:
    """DuckDB's answer; where it refuses what we read as a space, that of a space."""
    connection = hospital.backend._connection
    try:
        return connection.execute(sql).fetchall()[0][0]
    except duckdb.Error:
        return connection.execute(sql.replace("\u2028", " ")).fetchall()[0][0]
