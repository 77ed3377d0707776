"""No value of a row makes the SQL that runs fail: a failure would tell of the row."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Final

import duckdb
import pytest

from dpsql.engine.duckdb import DuckDBBackend
from dpsql.engine.render import Renderer
from dpsql.errors import UnsupportedQuery
from dpsql.mechanisms.sampler import SilentSampler
from dpsql.session import Session
from dpsql.sql.expression import Cast, Column, Expression, Literal, Type
from dpsql.sql.functions import FUNCTIONS
from dpsql.sql.translate import call
from dpsql.sql.vocabulary import CONVERSIONS, TARGETS
from tests.properties.neighbours import case
from tests.strategies import PRIVATE, Row, owned, store

EXTREMES: Final[dict[Type, str]] = {
    Type.BOOLEAN: "(TRUE), (FALSE), (NULL::BOOLEAN)",
    Type.INTEGER: "(0::BIGINT), (1), (-1), (7), (9223372036854775807), (-9223372036854775807 - 1), (NULL)",
    Type.DOUBLE: "('nan'::DOUBLE), ('inf'), ('-inf'), (0e0), (-0e0), (-1e0), (1e308), (5e-324), (9.3e18),"
    " (NULL)",
    Type.TEXT: "(''), ('a'), ('1e400'), ('9999999999999999999'), (chr(31)), ('𝄞é'), ('0000-00-00'), (NULL)",
    Type.DATE: "(DATE '2024-02-29'), ('infinity'), ('-infinity'), (DATE '0001-01-01'), (DATE '9999-12-31'),"
    " (DATE '290000-01-01'), (DATE '4000-01-01 (BC)'), (NULL)",
    Type.TIMESTAMP: "(TIMESTAMP '2024-02-29 23:59:59'), ('infinity'), ('-infinity'),"
    " (TIMESTAMP '290000-01-01 00:00:00'), (TIMESTAMP '4000-01-01 (BC) 00:00:00'), (NULL)",
}
CONSTANTS: Final[dict[str, tuple[Expression, ...]]] = {
    "in": (Literal(1, Type.INTEGER), Literal(Decimal("2.5"), Type.DOUBLE)),
    "round": (Literal(15, Type.INTEGER),),
    "like": (Literal("%_", Type.TEXT),),
    "ilike": (Literal("%É", Type.TEXT),),
    "starts_with": (Literal("a", Type.TEXT),),
    "contains": (Literal("a", Type.TEXT),),
    "substring": (Literal(-1_000_000, Type.INTEGER), Literal(1_000_000, Type.INTEGER)),
    "left": (Literal(-1_000_000, Type.INTEGER),),
    "right": (Literal(1_000_000, Type.INTEGER),),
}
CASTS: Final = [(kind, *target) for kind in EXTREMES for target in dict.fromkeys(TARGETS.values())]


def render(expression: Expression) -> str:
    return Renderer(lambda column: column.name)(expression)


def evaluate(sql: str, types: tuple[Type, ...]) -> None:
    """The expression over every combination of extreme values of its columns."""
    sources = ", ".join(f"(VALUES {EXTREMES[kind]}) t{i}(x{i})" for i, kind in enumerate(types))
    with duckdb.connect() as connection:
        connection.execute(f"SELECT BIT_XOR(HASH({sql})) FROM {sources}").fetchall()


def typed_calls(function: str) -> Iterator[tuple[Expression, tuple[Type, ...]]]:
    """The function on every combination of column types that it is defined for."""
    arity = len(set(re.findall(r"\b[abd]\b", FUNCTIONS[function].spelling)))
    for types in itertools.product(EXTREMES, repeat=arity):
        columns = tuple(Column("t", f"x{i}", kind) for i, kind in enumerate(types))
        arguments = (*columns, *CONSTANTS.get(function, ()))
        if FUNCTIONS[function].typing(tuple(a.type for a in arguments)) is not None:
            yield call(function, arguments), types


@pytest.mark.parametrize("function", FUNCTIONS)
def test_an_allowed_function_has_a_value_for_every_input(function: str) -> None:
    found = list(typed_calls(function))

    assert found
    for expression, types in found:
        evaluate(render(expression), types)


@pytest.mark.parametrize(
    ("kind", "target", "given"), [cast for cast in CASTS if cast[2] in CONVERSIONS[cast[0]]]
)
def test_a_conversion_gives_null_where_there_is_none(kind: Type, target: str, given: Type) -> None:
    evaluate(render(Cast(Column("t", "x0", kind), target, given)), (kind,))


@pytest.mark.parametrize("first", ["add", "sub", "mul", "intdiv", "mod"])
@pytest.mark.parametrize("second", ["add", "sub", "mul", "intdiv", "mod", "neg", "abs"])
def test_nested_arithmetic_on_whole_numbers_does_not_overflow(first: str, second: str) -> None:
    a, b = (Column("t", f"x{i}", Type.INTEGER) for i in range(2))
    inner = call(first, (a, b))
    outer = call(second, (inner,) if second in ("neg", "abs") else (inner, b))
    try:
        text = render(outer)
    except UnsupportedQuery:
        return
    evaluate(text, (Type.INTEGER, Type.INTEGER))


def test_a_key_beyond_63_bits_is_null_and_no_failure(tmp_path: Path) -> None:
    row = (2**62, None, "north", "c", None, "oncology", 5, "w1", None, True, 1.0, 3, 0.0)
    rows: dict[str, list[Row]] = {table: [] for table in PRIVATE}
    rows["visits"] = [(row[0], unit, *row[2:]) for unit in range(999)]
    policy = store(tmp_path, owned(rows))
    session = Session.open(policy, ":memory:", noise=SilentSampler())

    release = session.answer("SELECT visit_id * visit_id, COUNT(*) FROM visits GROUP BY 1")

    assert release.rows == [(None, 999)]
    session.close()


def test_a_whole_number_is_not_joined_to_a_double(tmp_path: Path) -> None:
    """Compared as doubles, 2^53 and 2^53 + 1 are equal, and the fan-out would be counted too low."""
    policy = store(tmp_path)
    backend = DuckDBBackend(policy)

    with pytest.raises(UnsupportedQuery):
        case("SELECT COUNT(*) FROM members JOIN hospitals ON income = beds", policy, backend.facts)
    backend.close()
