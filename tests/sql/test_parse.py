"""A text is one SELECT of a size we read, or it is refused where it stands."""

from __future__ import annotations

import pytest
from sqlglot import exp

from dpsql import errors
from dpsql.errors import Position
from dpsql.sql.parse import MAX_DEPTH, MAX_NESTING, MAX_NODES, parse, position_of


def refusal(text: str) -> errors.Error:
    with pytest.raises(errors.Error) as caught:
        parse(text)
    return caught.value


@pytest.mark.parametrize(
    "text",
    [
        "SELECT 1",
        "select 1;",
        "  \n\tSELECT 1 -- done",
        "/* first */ SELECT 1",
        "-- first\nSELECT 1",
        "FROM patients SELECT COUNT(*)",
        "SELECT ';'",
        "SELECT 1 /* ; */",
    ],
)
def test_one_select_is_read(text: str) -> None:
    assert isinstance(parse(text), exp.Select)


@pytest.mark.parametrize("text", ["SELECT 1; SELECT 2", "SELECT 1;; SELECT 2", "SELECT 1 UNION SELECT 2"])
def test_more_than_one_select_is_not_a_query(text: str) -> None:
    assert refusal(text).code is errors.NOT_A_QUERY


@pytest.mark.parametrize("text", ["", "   ", ";", ";;", "-- nothing", "/* nothing */"])
def test_no_statement_is_a_syntax_error(text: str) -> None:
    assert refusal(text).code is errors.SYNTAX


@pytest.mark.parametrize(
    "text", ["EXPLAIN SELECT 1", "explain analyze select 1", "/* x */ SET x = 1", "Drop Table t"]
)
def test_a_command_is_refused_before_the_parser_sees_it(text: str, capfd: pytest.CaptureFixture[str]) -> None:
    """The parser would print its doubts to standard error."""
    assert refusal(text).code is errors.NOT_A_QUERY
    assert capfd.readouterr() == ("", "")


def test_a_refusal_names_the_command() -> None:
    assert "EXPLAIN is not answered" in refusal("explain select 1").message


@pytest.mark.parametrize("number", ["1e0+5", "1e5-3", "1e"])
def test_a_number_is_written_plainly(number: str) -> None:
    assert refusal(f"SELECT {number} FROM t").code.name in ("DP100", "DP107")


@pytest.mark.parametrize("number", ["1", "1.5", ".5", "1.", "1e3", "1E-3", "1.5e+10"])
def test_plain_numbers_are_read(number: str) -> None:
    parse(f"SELECT {number}")


@pytest.mark.parametrize("text", ["SELECT '\0'", "SELECT \x07", "SELECT '\ud800'"])
def test_characters_that_no_query_needs_are_refused(text: str) -> None:
    assert refusal(text).code is errors.SYNTAX


def test_nesting_is_measured_without_recursion() -> None:
    fits = "(" * MAX_NESTING + "1" + ")" * MAX_NESTING

    parse(f"SELECT {fits}")
    assert refusal(f"SELECT ({fits})").code is errors.TOO_LARGE


def test_brackets_in_quotes_do_not_nest_and_quotes_in_comments_do_not_hide_them() -> None:
    deep = "(" * (MAX_NESTING + 1)

    assert refusal(f"SELECT /* ' */ {deep} /* ' */ 1").code is errors.TOO_LARGE
    assert refusal(f'SELECT /* " */ {deep} /* " */ 1').code is errors.TOO_LARGE


def test_depth_and_parts_are_limited() -> None:
    parse(f"SELECT {' + '.join(['1'] * (MAX_DEPTH - 5))}")

    assert refusal(f"SELECT {' + '.join(['1'] * (MAX_DEPTH + 5))}").code is errors.TOO_LARGE
    assert refusal(f"SELECT {', '.join(['1'] * (MAX_NODES + 1))}").code is errors.TOO_LARGE


def test_a_place_counts_lines_and_columns_from_one() -> None:
    tree = parse("SELECT a,\n       bcd FROM t")

    assert position_of(tree.expressions[0]) == Position(1, 8)
    assert position_of(tree.expressions[1]) == Position(2, 8)


def test_a_syntax_error_has_its_place() -> None:
    position = refusal("SELECT a\nFROM t WHERE").position

    assert position is not None
    assert position.line == 2
