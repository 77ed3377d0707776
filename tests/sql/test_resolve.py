"""Names and types of a query get the meaning that DuckDB gives them, under the policy's columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest

from dpsql import errors
from dpsql.sql.expression import Aggregate, Call, Column, Literal, Type, Value
from dpsql.sql.parse import parse
from dpsql.sql.relation import JoinKind, Query
from dpsql.sql.resolve import resolve
from tests.reference.clinic import Database


def read(database: Database, sql: str, *parameters: Value) -> Query:
    return resolve(parse(sql), database.policy, parameters)


def refusal(database: Database, sql: str, *parameters: Value) -> errors.Error:
    with pytest.raises(errors.Error) as caught:
        read(database, sql, *parameters)
    return caught.value


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT hospital, COUNT(*) FROM patients GROUP BY hospital",
        "SELECT HOSPITAL, COUNT(*) FROM PATIENTS GROUP BY Hospital",
        'SELECT "hospital", COUNT(*) FROM "patients" GROUP BY 1',
        "SELECT patients.hospital, COUNT(*) FROM patients GROUP BY ALL",
        "SELECT Patients.hospital AS h, COUNT(*) FROM patients GROUP BY h",
        "SELECT hospital AS h, COUNT(*) FROM patients GROUP BY patients.hospital",
    ],
)
def test_one_key_has_many_spellings(hospital: Database, sql: str) -> None:
    query = read(hospital, sql)

    assert query.keys == (Column("patients", "hospital", Type.TEXT),)
    assert query.items[0].expression == query.keys[0]


def test_an_item_is_called_as_the_query_calls_it(hospital: Database) -> None:
    query = read(hospital, 'SELECT sex, COUNT(*), AVG(age) AS "Mean Age", 1 + 1 FROM patients GROUP BY sex')

    assert [item.name for item in query.items] == ["sex", "count(*)", "Mean Age", "1 + 1"]


def test_group_by_sees_columns_before_aliases_and_order_by_the_other_way(hospital: Database) -> None:
    """As DuckDB does: `age` groups by the column, and orders by the item."""
    query = read(hospital, "SELECT age // 50 AS age, COUNT(*) FROM patients GROUP BY age ORDER BY age")

    assert query.keys == (Column("patients", "age", Type.INTEGER),)
    assert isinstance(query.order[0].expression, Call)


def test_where_does_not_see_aliases(hospital: Database) -> None:
    query = read(hospital, "SELECT 1 AS age, COUNT(*) FROM patients WHERE age > 50")

    assert isinstance(query.where, Call)
    assert query.where.arguments[0] == Column("patients", "age", Type.INTEGER)


def test_having_sees_aliases_where_no_table_has_such_a_column(hospital: Database) -> None:
    named = read(hospital, "SELECT hospital, COUNT(*) AS n FROM patients GROUP BY hospital HAVING n > 20")
    plain = read(
        hospital, "SELECT hospital, COUNT(*) AS n FROM patients GROUP BY hospital HAVING COUNT(*) > 20"
    )

    assert named.having == plain.having


def test_order_by_all_and_nulls_follow_duckdb(hospital: Database) -> None:
    query = read(
        hospital, "SELECT sex, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY n DESC NULLS FIRST, sex"
    )

    assert [(term.descending, term.nulls_first) for term in query.order] == [(True, True), (False, False)]
    assert len(read(hospital, "SELECT sex, COUNT(*) FROM patients GROUP BY 1 ORDER BY ALL").order) == 2


@pytest.mark.parametrize(
    ("clause", "limit", "offset"), [("LIMIT 3", 3, None), ("LIMIT 0", 0, None), ("LIMIT 2 OFFSET 1", 2, 1)]
)
def test_limit_and_offset_are_whole_numbers(
    hospital: Database, clause: str, limit: int, offset: int | None
) -> None:
    query = read(hospital, f"SELECT sex, COUNT(*) FROM patients GROUP BY 1 {clause}")

    assert (query.limit, query.offset) == (limit, offset)


@pytest.mark.parametrize("word", ["JOIN", "INNER JOIN", "LEFT JOIN", "LEFT OUTER JOIN"])
def test_a_join_is_attached_by_its_equalities(hospital: Database, word: str) -> None:
    for on in ("ON p.hospital = h.hospital", "ON h.hospital = p.hospital", "ON (p.hospital = h.hospital)"):
        join = read(hospital, f"SELECT COUNT(*) FROM patients p {word} hospitals h {on}").joins[0]

        assert join.kind is (JoinKind.LEFT if "LEFT" in word else JoinKind.INNER)
        assert join.equalities == ((Column("p", "hospital", Type.TEXT), Column("h", "hospital", Type.TEXT)),)


def test_the_rest_of_an_inner_joins_condition_goes_to_where(hospital: Database) -> None:
    query = read(
        hospital,
        "SELECT COUNT(*) FROM patients p JOIN hospitals h ON p.hospital = h.hospital AND h.beds > 50",
    )

    assert isinstance(query.where, Call)
    assert query.where.function == "gt"


def test_using_merges_its_column_into_one_name(hospital: Database) -> None:
    query = read(
        hospital, "SELECT hospital, COUNT(*) FROM patients JOIN hospitals USING (hospital) GROUP BY 1"
    )

    assert query.keys == (Column("patients", "hospital", Type.TEXT),)


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (True, Type.BOOLEAN),
        (7, Type.INTEGER),
        (7.5, Type.DOUBLE),
        (Decimal("7.5"), Type.DOUBLE),
        ("x", Type.TEXT),
        (datetime.date(2024, 1, 1), Type.DATE),
        (datetime.datetime(2024, 1, 1), Type.TIMESTAMP),
        (None, Type.NULL),
    ],
)
def test_a_parameter_becomes_a_constant_of_its_type(hospital: Database, value: Value, type_: Type) -> None:
    query = read(hospital, "SELECT COUNT(?) FROM patients", value)
    aggregate = query.items[0].expression

    assert isinstance(aggregate, Aggregate)
    assert aggregate.argument is not None
    assert aggregate.argument.type is type_


def test_parameters_are_bound_in_the_order_of_the_text(hospital: Database) -> None:
    """The syntax tree has them in another order: WHERE stands behind the items in it or before."""
    query = read(hospital, "SELECT COUNT(?), '?' FROM patients WHERE age > ? GROUP BY sex LIMIT ?", "a", 5, 9)

    assert isinstance(query.where, Call)
    assert query.where.arguments[1] == Literal(5, Type.INTEGER)
    assert query.limit == 9


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("inf"), Decimal("NaN"), 2**63, "nul\0", b"bytes", [1], datetime.timedelta(1)],
)
def test_other_values_are_no_parameters(hospital: Database, value: object) -> None:
    found = refusal(hospital, "SELECT COUNT(?) FROM patients", value)  # type: ignore[arg-type]

    assert found.code.name in ("DP103", "DP104")


@pytest.mark.parametrize("values", [(), (1, 2)])
def test_parameters_are_as_many_as_question_marks(hospital: Database, values: tuple[int, ...]) -> None:
    assert refusal(hospital, "SELECT COUNT(*) FROM patients WHERE age > ?", *values).code is errors.PARAMETERS


@pytest.mark.parametrize(
    ("expression", "type_"),
    [
        ("age + 1", Type.INTEGER),
        ("age + 1.0", Type.DOUBLE),
        ("age / 2", Type.DOUBLE),
        ("age // 2", Type.INTEGER),
        ("cost * age", Type.DOUBLE),
        ("age > 3", Type.BOOLEAN),
        ("sex || hospital", Type.TEXT),
        ("COALESCE(age, 0.5)", Type.DOUBLE),
        ("CASE WHEN age > 3 THEN 1 ELSE 2.5 END", Type.DOUBLE),
        ("CASE sex WHEN 'F' THEN 'f' END", Type.TEXT),
        ("CAST(age AS VARCHAR)", Type.TEXT),
        ("age::DOUBLE", Type.DOUBLE),
        ("LENGTH(sex)", Type.INTEGER),
        ("age IS NOT NULL", Type.BOOLEAN),
        ("NULL", Type.NULL),
    ],
)
def test_expressions_are_typed_as_the_engine_types_them(
    hospital: Database, expression: str, type_: Type
) -> None:
    aggregate = read(hospital, f"SELECT COUNT({expression}) FROM patients").items[0].expression

    assert isinstance(aggregate, Aggregate)
    assert aggregate.argument is not None
    assert aggregate.argument.type is type_


def test_a_text_beside_a_date_is_a_date(hospital: Database) -> None:
    query = read(hospital, "SELECT COUNT(*) FROM visits WHERE day >= '2024-02-29'")

    assert isinstance(query.where, Call)
    assert query.where.arguments[1] == Literal(datetime.date(2024, 2, 29), Type.DATE)


@pytest.mark.parametrize(
    ("condition", "same"),
    [
        ("(age > 3) IS TRUE", "(age > 3) IS NOT DISTINCT FROM TRUE"),
        ("(age > 3) IS NOT FALSE", "(age > 3) IS DISTINCT FROM FALSE"),
        ("age BETWEEN 1 AND 5", "age >= 1 AND age <= 5"),
        ("age NOT IN (1, 2)", "NOT age IN (1, 2)"),
        ("sex NOT LIKE 'F%'", "NOT sex LIKE 'F%'"),
        ("IF(age > 3, TRUE, FALSE)", "CASE WHEN age > 3 THEN TRUE ELSE FALSE END"),
        ("age != 3", "age <> 3"),
        ("age = -3", "age = - 3"),
    ],
)
def test_one_condition_has_two_spellings(hospital: Database, condition: str, same: str) -> None:
    first, second = (
        read(hospital, f"SELECT COUNT(*) FROM patients WHERE {c}").where for c in (condition, same)
    )

    assert first == second


def test_a_day_is_truncated_by_a_cast(hospital: Database) -> None:
    first, second = (
        read(hospital, f"SELECT COUNT({e}) FROM visits").items[0].expression
        for e in ("DATE_TRUNC('day', day)", "CAST(day AS DATE)")
    )

    assert first == second


@pytest.mark.parametrize(
    ("item", "code"),
    [
        ("CASE WHEN age > 3 THEN 1 ELSE 'x' END", "DP104"),
        ("LOWER(sex) FILTER (WHERE age > 3)", "DP201"),
        ("DATE_TRUNC('century', DATE '2024-01-01')", "DP201"),
        ("EXTRACT(epoch FROM DATE '2024-01-01')", "DP201"),
        ("ROUND(cost, age)", "DP201"),
        ("ROUND(cost, 16)", "DP201"),
        ("CAST(sex AS INTEGER)", "DP205"),
        ("CAST(cost AS DATE)", "DP104"),
        ("age IN ()", "DP201"),
        ("age IS 3", "DP201"),
        ("SUBSTRING(sex, age)", "DP201"),
        ("sex LIKE 'a\\'", "DP201"),
    ],
)
def test_what_has_no_safe_meaning_is_refused(hospital: Database, item: str, code: str) -> None:
    assert refusal(hospital, f"SELECT COUNT({item}) FROM patients").code.name == code


def test_count_without_an_argument_counts_rows_as_in_duckdb(hospital: Database) -> None:
    short, long = (
        read(hospital, f"SELECT {item} FROM patients").items[0] for item in ("COUNT()", "COUNT(*)")
    )

    assert short.expression == long.expression


def test_a_grouped_query_is_told_from_a_listing(hospital: Database) -> None:
    assert read(hospital, "SELECT COUNT(*) FROM hospitals").grouped
    assert read(hospital, "SELECT city FROM hospitals GROUP BY city").grouped
    assert not read(hospital, "SELECT city FROM hospitals").grouped


def test_a_star_lists_the_policys_columns_of_public_tables(hospital: Database) -> None:
    names = [item.name for item in read(hospital, "SELECT * FROM hospitals").items]

    assert names == ["hospital", "city", "beds"]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("SELECT COUNT(*)\nFROM nowhere", "DP101"),
        ("SELECT COUNT(*) FROM patients\nWHERE nothing > 3", "DP102"),
        ("SELECT sex,\n  age FROM patients GROUP BY sex", "DP106"),
        ("SELECT COUNT(*),\n  MEDIAN(age) FROM patients", "DP205"),
        ("SELECT COUNT(*),\n  AVG(sex) FROM patients", "DP104"),
    ],
)
def test_a_refusal_has_its_place(hospital: Database, sql: str, code: str) -> None:
    found = refusal(hospital, sql)

    assert found.code.name == code
    assert found.position is not None
    assert found.position.line == 2


@pytest.mark.parametrize(
    "constant", ["'2024-03-01 00:00:00'", "'2024-03-01'", "DATE '2024-03-01'", "TIMESTAMP '2024-03-01'"]
)
def test_a_constant_beside_a_timestamp_is_a_timestamp(hospital: Database, constant: str) -> None:
    query = read(hospital, f"SELECT COUNT(*) FROM visits WHERE CAST(day AS TIMESTAMP) >= {constant}")

    assert isinstance(query.where, Call)
    assert query.where.arguments[1] == Literal(datetime.datetime(2024, 3, 1), Type.TIMESTAMP)


@pytest.mark.parametrize("constant", ["'March'", "'2024-03-01 00:00:00+02:00'", "'2024-13-01'"])
def test_a_text_that_is_no_timestamp_is_refused(hospital: Database, constant: str) -> None:
    error = refusal(hospital, f"SELECT COUNT(*) FROM visits WHERE CAST(day AS TIMESTAMP) >= {constant}")

    assert error.code is errors.TYPE_MISMATCH
