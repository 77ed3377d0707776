"""Are answers rounded honestly and written so that programs can read them back?"""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpsql.cli.format import Sheet, cells, listing, printable, written
from dpsql.cli.parameter import read_parameter
from dpsql.cli.screen import console, table
from dpsql.spelling import number


def noisy(name: str, pairs: list[tuple[float, float]]) -> Sheet:
    values = [(value,) for value, _ in pairs]
    return Sheet((name,), values, (True,), (True,), [(error,) for _, error in pairs])


@given(
    st.lists(st.tuples(st.floats(-1e9, 1e9), st.floats(1e-6, 1e300)), min_size=1, max_size=5),
)
def test_a_shown_half_width_is_never_below_the_true_one(pairs: list[tuple[float, float]]) -> None:
    shown = cells(noisy("mean", pairs), 0)

    for (_, error), (_, text) in zip(pairs, shown, strict=True):
        assert float(text.replace(",", "")) >= error


def test_a_column_has_as_many_decimals_as_its_smallest_error_deserves() -> None:
    shown = cells(noisy("mean", [(1234.567, 12.25), (45.4567, 0.849)]), 0)

    assert shown == [("1,234.57", "12.25"), ("45.46", "0.85")]


def test_integers_keep_no_decimals() -> None:
    assert cells(noisy("n", [(12345, 29.957)]), 0) == [("12,345", "30")]


def test_exact_numbers_are_shown_as_they_are() -> None:
    year = listing(("year",), [(2024,), (None,)])

    assert cells(year, 0) == [("2024", ""), ("NULL", "")]


@pytest.mark.parametrize(
    ("value", "text"),
    [("2E+1", "20"), ("0.10", "0.1"), ("1.0E-9", "1e-9"), ("0", "0"), ("0.000002", "2e-6"), ("1.5", "1.5")],
)
def test_decimals_are_written_as_people_write_them(value: str, text: str) -> None:
    assert number(Decimal(value)) == text
    assert Decimal(text) == Decimal(value)


def test_csv_reads_back_with_quotes_newlines_dates_and_nulls() -> None:
    row = ('a "quoted", text\nof two lines', datetime.date(2024, 2, 29), None, True, Decimal("1e-9"), 0.1)
    sheet = listing(("t", "d", "z", "b", "p", "x"), [row])

    (_, read) = csv.reader(io.StringIO(written(sheet, None, "csv")))

    assert read == [row[0], "2024-02-29", "", "true", "1e-9", "0.1"]


def test_json_stays_json_where_a_number_is_none() -> None:
    sheet = listing(("x", "y"), [(math.nan, math.inf)])

    assert json.loads(written(sheet, {"rows": sheet.rows}, "json")) == {"rows": [[None, None]]}
    assert json.loads(written(sheet, None, "jsonl")) == {"x": None, "y": None}


def test_columns_of_one_name_do_not_hide_each_other() -> None:
    sheet = Sheet(
        ("n", "n", "n_error"),
        [(1, 2, 3)],
        (True, True, True),
        (True, True, False),
        [(0.1, 0.2, None)],
    )

    assert sorted(json.loads(written(sheet, None, "jsonl")).values()) == [0.1, 0.2, 1, 2, 3]


NAME = st.sampled_from(("n", "n_error", "n_2", "n_2_error", "m"))


@given(st.lists(st.tuples(NAME, st.booleans()), min_size=1, max_size=6))
def test_a_noisy_column_is_followed_by_its_error_and_all_names_differ(
    columns: list[tuple[str, bool]],
) -> None:
    names, noisy = zip(*columns, strict=True)
    width = len(columns)
    sheet = Sheet(names, [(1,) * width], (True,) * width, noisy, [tuple(0.5 if e else None for e in noisy)])

    (head, values) = csv.reader(io.StringIO(written(sheet, None, "csv")))

    assert len(set(head)) == len(head)
    assert head[0] == names[0]
    errors = [place for place, value in enumerate(values) if value == "0.5"]
    assert [head[place] for place in errors] == [f"{head[place - 1]}_error" for place in errors]


def test_an_error_keeps_its_name_where_a_column_has_the_same() -> None:
    yes = (True, True, False)
    sheet = Sheet(("n", "n", "n_error"), [(1, 2, 3)], (True,) * 3, yes, [(0.1, 0.2, None)])

    assert written(sheet, None, "csv").splitlines()[0] == "n,n_error,n_2,n_2_error,n_error_2"


def test_a_list_of_names_is_written_without_the_marks_of_python() -> None:
    assert cells(listing(("keys",), [(("region", "sex"),), ((),)]), 0) == [("region, sex", ""), ("", "")]


def test_markdown_keeps_its_columns_whatever_a_text_holds() -> None:
    lines = written(listing(("a|b",), [("x|y\nz",)]), None, "markdown").splitlines()

    assert lines == ["| a\\|b |", "| --- |", "| x\\|y\\\\nz |"]


@given(st.text())
def test_what_is_printed_holds_no_control_character(text: str) -> None:
    assert printable(text).isprintable()


def test_a_table_keeps_the_plus_minus_signs_in_one_column(capsys: pytest.CaptureFixture[str]) -> None:
    console().print(table(noisy("n", [(7, 3), (1234, 1200)])))

    lines = [line for line in capsys.readouterr().out.splitlines() if "±" in line]
    assert len({line.index("±") for line in lines}) == 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("42", 42),
        ("-1.5e3", -1500.0),
        (".5", 0.5),
        ("2024-02-29", datetime.date(2024, 2, 29)),
        ("2024-02-30", "2024-02-30"),
        ("TRUE", True),
        ("false", False),
        ("null", None),
        ("'null'", "null"),
        ('"42"', "42"),
        ("'", "'"),
        ("", ""),
        ("1e", "1e"),
        ("nan", "nan"),
    ],
)
def test_a_parameter_is_what_it_looks_like(text: str, value: object) -> None:
    read = read_parameter(text)

    assert (read, type(read)) == (value, type(value))
