"""What is not on the list is refused, and what is on it is answered somewhere."""

from __future__ import annotations

from typing import Final

import pytest
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from dpsql import errors
from dpsql.sql import subset
from dpsql.sql.functions import FUNCTIONS
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from tests.reference.clinic import Database

ANSWERED: Final = [
    "SELECT hospital AS h, COUNT(*) FROM patients p WHERE p.age > ? GROUP BY ALL ORDER BY 1 DESC",
    "SELECT hospital, COUNT(-age) FROM patients GROUP BY hospital LIMIT 3 OFFSET 1",
    "SELECT hospital, COUNT(DISTINCT patient_id) FROM patients GROUP BY 1 HAVING AVG(age) > 3",
    "SELECT COUNT(*) FROM patients p LEFT JOIN hospitals h ON p.hospital = h.hospital",
    "SELECT COUNT(*) FROM patients JOIN hospitals USING (hospital)",
    "SELECT COUNT_IF(age > 1) FILTER (WHERE NOT (age < 2 OR age <= 3 AND age >= 4)) FROM patients",
    "SELECT SUM(((age + 1) * 2 - -3) // 4 % 5) / 2 FROM patients",
    "SELECT COUNT(*) FROM patients WHERE age = 1 AND age <> 2 AND age IS NOT NULL AND TRUE",
    "SELECT COUNT(*) FROM patients WHERE age IS DISTINCT FROM 1 AND age IS NOT DISTINCT FROM NULL",
    "SELECT COUNT(*) FROM patients WHERE age BETWEEN 1 AND 9 AND age IN (1, 2)",
    "SELECT SUM(CASE WHEN age > 3 THEN 1 ELSE 0 END), SUM(IF(age > 3, 1, 0)) FROM patients",
    "SELECT COUNT(CAST(age AS DOUBLE)), COUNT(TRY_CAST(sex AS INTEGER)), COUNT(age::VARCHAR) FROM patients",
    "SELECT COUNT(*) FROM patients WHERE sex LIKE 'F%' OR sex ILIKE 'f%' OR sex || 'x' = $$Fx$$",
    "SELECT COUNT(ABS(age)), COUNT(SQRT(cost)), COUNT(LN(cost)), COUNT(EXP(cost)) FROM patients",
    "SELECT COUNT(FLOOR(cost)), COUNT(CEIL(cost)), COUNT(ROUND(cost, 1)) FROM patients",
    "SELECT COUNT(COALESCE(age, 1)), COUNT(NULLIF(age, 1)), COUNT(LEAST(age, 1)) FROM patients",
    "SELECT COUNT(GREATEST(age, 1)), COUNT(LOWER(sex)), COUNT(UPPER(sex)), COUNT(TRIM(sex)) FROM patients",
    "SELECT COUNT(LENGTH(sex)), COUNT(STARTS_WITH(sex, 'F')), COUNT(CONTAINS(sex, 'F')) FROM patients",
    "SELECT COUNT(SUBSTRING(sex, 1, 1)), COUNT(LEFT(sex, 1)), COUNT(RIGHT(sex, 1)) FROM patients",
    "SELECT COUNT(YEAR(day)), COUNT(QUARTER(day)), COUNT(MONTH(day)), COUNT(WEEK(day)) FROM visits",
    "SELECT COUNT(DAY(day)), COUNT(DAYOFWEEK(day)), COUNT(ISODOW(day)), COUNT(DAYOFYEAR(day)) FROM visits",
    "SELECT COUNT(EXTRACT(month FROM day)), COUNT(DATE_TRUNC('month', day)) FROM visits",
    "SELECT COUNT(DAYOFMONTH(day)), COUNT(WEEKOFYEAR(day)) FROM visits",
]
"""Together they use every form of the list."""


def nodes(sql: str) -> set[type[exp.Expr]]:
    return {type(node) for node in parse(sql).walk()}


@pytest.mark.parametrize("sql", ANSWERED)
def test_the_forms_of_the_list_have_a_price(hospital: Database, sql: str) -> None:
    parameters = (3,) * sql.count("?")

    with hospital.session() as session:
        assert session.explain(sql, parameters).measurements


def test_every_form_of_the_list_is_used() -> None:
    """A form that no query can reach is a hole to be found later."""
    used = {kind for sql in ANSWERED for kind in nodes(sql)}

    # The parser writes these in other forms: DATE_TRUNC of a date, for one, as that of a timestamp.
    assert set(subset.SUPPORTED) - used <= {exp.RawString, exp.DateTrunc, exp.TimestampTrunc, exp.Var}


def test_every_function_is_reached_by_a_query(hospital: Database) -> None:
    seen: set[str] = set()
    for sql in ANSWERED:
        query = resolve(parse(sql), hospital.policy, (3,) * sql.count("?"))
        seen |= {name for name in FUNCTIONS if f"function='{name}'" in repr(query)}

    rare = {"trunc_year", "trunc_quarter", "trunc_week", "and", "or", "not", "in"}
    assert set(FUNCTIONS) - seen <= rare


def functions() -> dict[str, type[exp.Func]]:
    """Every function that the parser knows by name and that is not on the list."""
    known = DuckDB.Parser.FUNCTIONS
    named = {name: cls for cls in exp.ALL_FUNCTIONS for name in cls.sql_names() if name in known}
    return {name: cls for name, cls in named.items() if cls not in subset.SUPPORTED}


@pytest.mark.parametrize("name", sorted(functions()))
def test_a_function_outside_the_list_is_refused(hospital: Database, name: str) -> None:
    for arguments in ("", "cost", "cost, age", "cost, age, sex"):
        sql = f"SELECT COUNT(*) FROM patients WHERE {name}({arguments}) IS NULL"

        with pytest.raises((errors.NotSupportedError, errors.ProgrammingError)):
            resolve(parse(sql), hospital.policy)


@pytest.mark.parametrize("name", [name for cls in subset.CALLS for name in cls.sql_names()])  # type: ignore[attr-defined]
def test_a_listed_function_with_other_arguments_is_refused_in_words(hospital: Database, name: str) -> None:
    """The parser's builders leave parts out, and reading those would raise."""
    for arguments in ("", "age", "sex, 1", "'month', sex", "sex, 1, 2", "1, 2, 3, 4", "*", "DISTINCT age"):
        sql = f"SELECT COUNT(*) FROM patients WHERE {name}({arguments}) IS NULL"

        try:
            resolve(parse(sql), hospital.policy)
        except (errors.NotSupportedError, errors.ProgrammingError):
            continue


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM patients WHERE SUM(age) OVER () > 3",
        "SELECT SUM(age ORDER BY cost) FROM patients",
        "SELECT COUNT(age, cost) FROM patients",
        "SELECT COUNT(DISTINCT age, cost) FROM patients",
        "SELECT COUNT(*) FROM patients AS p(a, b)",
        "SELECT COUNT(*) FROM patients LIMIT 3 PERCENT",
        "SELECT COUNT(*) FROM patients FOR UPDATE",
        "SELECT COUNT(*) FROM ONLY patients",
        "SELECT ALL COUNT(*) FROM patients WINDOW w AS ()",
        "SELECT COUNT(*) FROM patients ORDER BY 1 COLLATE NOCASE",
        "SELECT COUNT(*) FROM patients WHERE sex LIKE 'F' ESCAPE '!'",
        "SELECT COUNT(*) FROM patients WHERE sex COLLATE NOCASE = 'f'",
        "SELECT TRIM(BOTH 'x' FROM sex), COUNT(*) FROM patients GROUP BY 1",
        "SELECT COUNT(*) FROM patients WHERE CAST(cost AS DECIMAL(5, 2)) > 1",
        "SELECT COUNT(*) FROM patients WHERE CAST(cost AS INTEGER[]) IS NULL",
        "SELECT SUM(age) IGNORE NULLS FROM patients",
    ],
)
def test_a_listed_form_with_an_unlisted_part_is_refused(hospital: Database, sql: str) -> None:
    with pytest.raises((errors.NotSupportedError, errors.ProgrammingError)):
        resolve(parse(sql), hospital.policy)
