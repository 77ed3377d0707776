"""Random queries over the hostile table: typed expressions of the whole allow-list, and texts near them."""

from __future__ import annotations

import re
from typing import Final

from hypothesis import strategies as st

Text = st.SearchStrategy[str]

INTEGERS: Final = st.sampled_from(
    ["small", "large", "wild", "0", "1", "-1", "7", "1000000007", "9223372036854775807", "NULL"]
)
DOUBLES: Final = st.sampled_from(
    ["ratio", "free", "0.0", "-0.5", "1e3", "1e308", "1e-320", "123456789.123456789", ".5"]
)
TEXTS: Final = st.sampled_from(["label", "place", "note", "''", "'a'", "'it''s'", "$$dollar$$", "'%'"])
DATES: Final = st.sampled_from(["born", "CAST(seen AS DATE)", "DATE '2000-02-29'", "DATE '0001-01-01'"])
CONDITIONS: Final = st.sampled_from(["flag", "TRUE", "FALSE", "flag IS NULL", "born > '2000-01-01'"])
COMPARISONS: Final = st.sampled_from(
    ["=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"]
)
PATTERNS: Final = st.sampled_from(["'%'", "'_a%'", "''", "'it''s'", "'%|%'"])
NARROW: Final = st.sampled_from(["TINYINT", "SMALLINT", "INTEGER", "BIGINT"])
PARTS: Final = st.sampled_from(["year", "quarter", "month", "week", "day", "dow", "isodow", "doy"])
UNITS: Final = st.sampled_from(["year", "quarter", "month", "week", "day"])


def made(template: str, *parts: Text) -> Text:
    """The template with each %s replaced by one part."""
    return st.tuples(*parts).map(lambda values: template % values)


def choice(of: Text) -> Text:
    """Forms that every type has."""
    return st.one_of(
        made("COALESCE(%s, %s)", of, of),
        made("NULLIF(%s, %s)", of, of),
        made("LEAST(%s, %s)", of, of),
        made("GREATEST(%s, %s)", of, of),
        made("(%s)", of),
    )


def deeper(level: int) -> tuple[Text, Text, Text, Text, Text]:
    """Strategies of (integer, double, text, date, condition) expressions of at most that depth."""
    if level == 0:
        return INTEGERS, DOUBLES, TEXTS, DATES, CONDITIONS
    integer, double, text, date, condition = deeper(level - 1)
    return (
        st.one_of(INTEGERS, _integers(integer, double, text, date, condition)),
        st.one_of(DOUBLES, _doubles(integer, double, condition)),
        st.one_of(TEXTS, _texts(integer, text, condition)),
        st.one_of(DATES, _dates(text, date, condition)),
        st.one_of(CONDITIONS, _conditions(integer, double, text, date, condition)),
    )


def _integers(integer: Text, double: Text, text: Text, date: Text, condition: Text) -> Text:
    operators = st.sampled_from(["+", "-", "*", "//", "%"])
    return st.one_of(
        made("(%s %s %s)", integer, operators, integer),
        made("(- %s)", integer),
        made("ABS(%s)", integer),
        made("CAST(%s AS %s)", st.one_of(integer, double, condition), NARROW),
        made("TRY_CAST(%s AS %s)", text, NARROW),
        made("LENGTH(%s)", text),
        made("EXTRACT(%s FROM %s)", PARTS, date),
        made("ROUND(%s, 2)", integer),
        made("CASE WHEN %s THEN %s ELSE %s END", condition, integer, integer),
        made("CASE %s WHEN %s THEN %s END", integer, integer, integer),
        choice(integer),
    )


def _doubles(integer: Text, double: Text, condition: Text) -> Text:
    number = st.one_of(integer, double)
    return st.one_of(
        made("(%s %s %s)", double, st.sampled_from(["+", "-", "*", "%", "//"]), number),
        made("(%s / %s)", number, number),
        made("%s(%s)", st.sampled_from(["SQRT", "LN", "EXP", "ABS", "FLOOR", "CEIL", "-"]), double),
        made("ROUND(%s, %s)", double, st.sampled_from(["0", "2", "15"])),
        made("CAST(%s AS DOUBLE)", integer),
        made("CASE WHEN %s THEN %s ELSE %s END", condition, double, number),
        choice(double),
    )


def _texts(integer: Text, text: Text, condition: Text) -> Text:
    return st.one_of(
        made("%s(%s)", st.sampled_from(["LOWER", "UPPER", "TRIM"]), text),
        made("(%s || %s)", text, text),
        made("SUBSTRING(%s, %s, %s)", text, integer, integer),
        made("%s(%s, %s)", st.sampled_from(["LEFT", "RIGHT"]), text, integer),
        made("CAST(%s AS VARCHAR)", integer),
        made("IF(%s, %s, %s)", condition, text, text),
        choice(text),
    )


def _dates(text: Text, date: Text, condition: Text) -> Text:
    return st.one_of(
        made("DATE_TRUNC('%s', %s)", UNITS, date),
        made("TRY_CAST(%s AS DATE)", text),
        made("CASE WHEN %s THEN %s END", condition, date),
        choice(date),
    )


def _conditions(integer: Text, double: Text, text: Text, date: Text, condition: Text) -> Text:
    number = st.one_of(integer, double)
    return st.one_of(
        made("(%s %s %s)", number, COMPARISONS, number),
        made("(%s %s %s)", text, COMPARISONS, text),
        made("(%s %s %s)", date, COMPARISONS, date),
        made("(%s BETWEEN %s AND %s)", number, number, number),
        made("(%s IN (1, 2, -9))", integer),
        made("(%s NOT IN ('a', ''))", text),
        made("(%s %s %s)", text, st.sampled_from(["LIKE", "NOT LIKE", "ILIKE"]), PATTERNS),
        made("%s(%s, %s)", st.sampled_from(["STARTS_WITH", "CONTAINS"]), text, text),
        made("(%s IS NOT NULL)", st.one_of(number, text, date)),
        made("(%s %s %s)", condition, st.sampled_from(["AND", "OR"]), condition),
        made("(NOT %s)", condition),
    )


INTEGER, DOUBLE, TEXT, DATE, CONDITION = deeper(2)
ANY: Final = st.one_of(INTEGER, DOUBLE, TEXT, DATE, CONDITION)
KEY: Final = st.one_of(
    st.sampled_from(["small", "label", "place", "note", "born", "flag", "wild"]),
    INTEGER,
    TEXT,
    DATE,
    CONDITION,
)
BOUNDED: Final = made("LEAST(GREATEST(%s, -100), 100)", st.one_of(INTEGER, DOUBLE))
AGGREGATE: Final = st.one_of(
    st.sampled_from(["COUNT(*)", "COUNT(DISTINCT person)", "SUM(small)", "AVG(ratio)", "SUM(large)"]),
    made("COUNT(%s)", ANY),
    made("COUNT_IF(%s)", CONDITION),
    made("%s(%s)", st.sampled_from(["SUM", "AVG"]), st.one_of(INTEGER, DOUBLE, BOUNDED)),
)
FILTERED: Final = st.one_of(AGGREGATE, made("%s FILTER (WHERE %s)", AGGREGATE, CONDITION))
ABOVE: Final = st.one_of(
    FILTERED,
    made("%s %s %s", FILTERED, st.sampled_from(["+", "-", "*", "/", "//", "%"]), FILTERED),
    made("ROUND(%s, 1)", FILTERED),
    made("COALESCE(%s, 0)", FILTERED),
)
JOINED: Final = st.sampled_from(
    ["", "", "", " JOIN places p ON p.place = events.place", " LEFT JOIN places p ON events.place = p.place"]
)


@st.composite
def queries(draw: st.DrawFn) -> str:
    """One SELECT over the hostile table."""
    keys = draw(st.lists(KEY, max_size=2))
    shown = [f"{key} AS g{number}" for number, key in enumerate(keys)]
    shown += draw(st.lists(ABOVE, min_size=1, max_size=3))
    sql = f"SELECT {', '.join(shown)} FROM events{draw(JOINED)}"
    if draw(st.booleans()):
        sql += f" WHERE {draw(CONDITION)}"
    if keys:
        sql += f" GROUP BY {', '.join(f'{number}' for number in range(1, len(keys) + 1))}"
    if draw(st.booleans()):
        sql += f" HAVING {draw(FILTERED)} > {draw(st.sampled_from(['0', '-1e300', 'NULL']))}"
    if draw(st.booleans()):
        sql += f" ORDER BY {draw(st.sampled_from(['1', 'ALL', '1 DESC NULLS FIRST', 'COUNT(*)']))}"
    return sql + draw(st.sampled_from(["", " LIMIT 3", " LIMIT 3 OFFSET 1", " LIMIT 0"]))


_SYNTAX: Final = """
    SELECT COUNT(*) SUM(small) FROM events WHERE GROUP BY HAVING ORDER LIMIT JOIN places ON USING label note
    person small ( ) [ ] { } , ; . * + - / // % = <> < > ' '' " $$ -- /* */ ? $1 :x @ # ! ~ ^ & | -> \\
    1 1e0+5 0x1F 1_000 .5 NULL TRUE CASE WHEN THEN ELSE END CAST AS IN LIKE BETWEEN IS NOT AND OR WITH
    UNION EXCEPT DISTINCT FILTER OVER PARTITION LATERAL UNNEST VALUES PIVOT TABLE EXPLAIN COPY ATTACH
"""
_WORDS: Final = [*_SYNTAX.split(), "\t", "\n", "\0", "é", "\ud800", "😀"]

TEXTS_NEAR_SQL: Final = st.lists(st.sampled_from(_WORDS), max_size=25).map(" ".join)
ANY_TEXT: Final = st.text(max_size=200)


_WORD: Final = re.compile(r"\w+|'[^']*'|\s+|.", re.DOTALL)


@st.composite
def damaged(draw: st.DrawFn, known: list[str]) -> str:
    """A known query after a few accidents to its words."""
    words = _WORD.findall(draw(st.sampled_from(known)))
    for _ in range(draw(st.integers(1, 3))):
        place = draw(st.integers(0, len(words)))
        other = _WORD.findall(draw(st.sampled_from(known)))
        piece = other[draw(st.integers(0, len(other))) :][: draw(st.integers(0, 4))]
        words[place : place + draw(st.integers(0, 2))] = piece
    return "".join(words)
