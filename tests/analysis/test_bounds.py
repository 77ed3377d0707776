"""Intervals hold what the engine computes, and are as narrow as the rules of arithmetic allow."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql import errors
from dpsql.analysis.bounds import LARGEST, Interval, interval, signed
from dpsql.engine.render import Renderer, quote
from dpsql.policy.model import Policy
from dpsql.sql.expression import Column, Expression, Type
from dpsql.sql.parse import parse
from dpsql.sql.resolve import resolve
from tests.attacks.grammar import DOUBLE, INTEGER
from tests.attacks.hostile import hostile
from tests.reference.clinic import Database

SMALL = Interval(Fraction(-10), Fraction(10))
RATIO = Interval(Fraction(-1000), Fraction(1000))
LARGE = Interval(Fraction(-4_000_000_000), Fraction(4_000_000_000))
DECLARED = {"small": SMALL, "ratio": RATIO, "large": LARGE}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    with hostile(tmp_path_factory.mktemp("hostile")) as opened:
        yield opened


def expression(policy: Policy, text: str) -> Expression:
    query = resolve(parse(f"SELECT COUNT({text}) FROM events"), policy)
    aggregate = query.items[0].expression
    argument = getattr(aggregate, "argument")  # noqa: B009
    assert argument is not None
    return argument  # type: ignore[no-any-return]


def declared(part: Expression) -> Interval | None:
    return DECLARED.get(part.name) if isinstance(part, Column) else None


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("small + 3", -7, 13),
        ("3 - small", -7, 13),
        ("-small", -10, 10),
        ("small * small", -100, 100),
        ("small * -2", -20, 20),
        ("ABS(small - 3)", 0, 13),
        ("ABS(small + 20)", 10, 30),
        ("small / 4", -2.5, 2.5),
        ("small / -4", -2.5, 2.5),
        ("1 / (small + 20)", 1 / 30, 1 / 10),
        ("small // 3", -3, 3),
        ("(small + 10) // 3", 0, 6),
        ("small // small", -10, 10),
        ("small % 3", -3, 3),
        ("(small + 10) % 7", 0, 7),
        ("LEAST(small, 3)", -10, 3),
        ("GREATEST(small, 3)", 3, 10),
        ("LEAST(GREATEST(ratio, 0), 1)", 0, 1),
        ("COALESCE(small, 99)", -10, 99),
        ("NULLIF(small, 0)", -10, 10),
        ("CASE WHEN flag THEN small ELSE 100 END", -10, 100),
        ("CASE WHEN flag THEN 1 WHEN NOT flag THEN 2 END", 1, 2),
        ("CAST(ratio AS TINYINT)", -128, 127),
        ("CAST(flag AS INTEGER)", 0, 1),
        ("FLOOR(ratio / 300)", -4, 3),
        ("CEIL(ratio / 300)", -3, 4),
        ("ROUND(ratio / 3, 0)", -334, 334),
        ("EXTRACT(month FROM born)", 1, 12),
        ("SQRT(small + 10)", 0, math.sqrt(20)),
        ("EXP(small)", math.exp(-10), math.exp(10)),
        ("LN(small + 11)", 0, math.log(21)),
    ],
)
def test_an_expression_has_the_range_of_its_corners(
    database: Database, text: str, low: float, high: float
) -> None:
    found = interval(expression(database.policy, text), declared)

    assert found is not None
    assert float(found.lower) == pytest.approx(low, abs=1e-12)
    assert float(found.upper) == pytest.approx(high, rel=1e-12)


@pytest.mark.parametrize(
    "text",
    [
        "wild",
        "free + small",
        "1 / small",
        "small / (small + 10)",
        "LN(small)",
        "LN(small + 10)",
        "SQRT(small)",
        "EXP(ratio)",
        "NULL + small",
        "LENGTH(note)",
        "COALESCE(small, wild)",
        "CASE WHEN flag THEN small ELSE wild END",
    ],
)
def test_what_can_be_any_number_or_fail_has_no_range(database: Database, text: str) -> None:
    assert interval(expression(database.policy, text), declared) is None


@pytest.mark.parametrize(
    ("text", "nullable"),
    [
        ("3", False),
        ("small", True),
        ("COALESCE(small, 0)", False),
        ("LEAST(small, 0)", False),
        ("small + 1", True),
        ("CASE WHEN flag THEN 1 END", True),
        ("CASE WHEN flag THEN 1 ELSE 2 END", False),
        ("7 // small", True),
    ],
)
def test_null_is_known_to_be_possible(database: Database, text: str, nullable: bool) -> None:
    found = interval(expression(database.policy, text), declared)

    assert found is not None
    assert found.nullable == nullable


def test_a_nullable_argument_leaves_the_choice_to_the_others(database: Database) -> None:
    """LEAST(NULL, 50) is 50: the bound of a nullable argument is none of the choice."""
    found = interval(expression(database.policy, "LEAST(small, large)"), declared)

    assert found is not None
    assert found.upper == LARGE.upper


def test_a_whole_number_of_unknown_size_is_asked_of_the_caller(database: Database) -> None:
    """The renderer answers with the bits of the type, and so knows the width of the arithmetic around it."""

    def bits(part: Expression) -> Interval | None:
        return signed(63) if part.type is Type.INTEGER else None

    for text in (
        "wild + 1",
        "CAST(free AS SMALLINT) + 1",
        "TRY_CAST(note AS INTEGER) + 1",
        "LENGTH(note) + 1",
    ):
        found = interval(expression(database.policy, text), bits)

        assert found is not None
        assert found.upper == 2**63


def test_an_interval_has_its_ends_in_order() -> None:
    with pytest.raises(ValueError, match="lower end is above"):
        Interval(Fraction(1), Fraction(0))


@settings(max_examples=100, deadline=None, suppress_health_check=list(HealthCheck))
@given(text=st.one_of(INTEGER, DOUBLE))
def test_what_the_engine_computes_lies_in_the_interval(database: Database, text: str) -> None:
    """Over the worst rows, with columns clipped where they are summed."""
    try:
        found = expression(database.policy, text)
        sql = Renderer(lambda column: quote(column.name), bounds())(found)
    except (errors.NotSupportedError, errors.ProgrammingError):
        return
    known = interval(found, declared)
    if known is None or known.magnitude > LARGEST or not found.type.numeric:
        return

    rows = database.backend._connection.execute(f"SELECT {sql} FROM events").fetchall()

    values = [value for (value,) in rows if value is not None and not math.isnan(value)]
    slack = known.magnitude * Fraction(1, 2**40) + Fraction(1, 2**1000)
    assert all(known.lower - slack <= Fraction(value) <= known.upper + slack for value in values)
    assert known.nullable or len(values) == len(rows)


def bounds() -> dict[tuple[str, str], Interval]:
    return {("events", name): known for name, known in DECLARED.items()}
