"""Expressions are values: equal by meaning, walked and rewritten without change."""

from __future__ import annotations

from dpsql.errors import Position
from dpsql.sql.expression import (
    Aggregate,
    AggregateKind,
    Call,
    Case,
    Cast,
    Column,
    Expression,
    Literal,
    Type,
    aggregates,
    children,
    columns,
    conjunction,
    conjuncts,
    rewrite,
    walk,
)

AGE = Column("p", "age", Type.INTEGER)
ONE = Literal(1, Type.INTEGER)
TRUE = Literal(True, Type.BOOLEAN)
OLD = Call("gt", (AGE, ONE), Type.BOOLEAN)
CASE = Case(((OLD, ONE),), AGE, Type.INTEGER)
CAST = Cast(CASE, "SMALLINT", Type.INTEGER)
SUM = Aggregate(AggregateKind.SUM, CAST, OLD, Type.INTEGER, "SUM(x)")


def test_where_something_stands_and_how_it_is_spelt_makes_no_difference() -> None:
    there = Column("p", "age", Type.INTEGER, Position(3, 4))
    spelt = Aggregate(AggregateKind.SUM, CAST, OLD, Type.INTEGER, "sum( x )", Position(1, 1))

    assert there == AGE
    assert hash(there) == hash(AGE)
    assert spelt == SUM
    assert repr(there) == repr(AGE), "digests are made of it"


def test_an_expression_is_walked_parents_first() -> None:
    assert list(walk(CAST)) == [CAST, CASE, OLD, AGE, ONE, ONE, AGE]
    assert children(SUM) == (CAST, OLD)
    assert children(ONE) == ()


def test_columns_and_aggregates_are_found_at_every_depth() -> None:
    both = Call("add", (SUM, ONE), Type.INTEGER)

    assert list(columns(both)) == [AGE, AGE, AGE]
    assert list(aggregates(both)) == [SUM]


def test_rewriting_replaces_from_the_root_and_does_not_enter_what_it_replaced() -> None:
    def older(part: Expression) -> Expression | None:
        return Call("add", (AGE, ONE), Type.INTEGER) if part == AGE else None

    changed = rewrite(CAST, older)

    assert changed == Cast(
        Case(((Call("gt", (older(AGE) or AGE, ONE), Type.BOOLEAN), ONE),), older(AGE) or AGE, Type.INTEGER),
        "SMALLINT",
        Type.INTEGER,
    )
    assert rewrite(CAST, lambda part: None) == CAST
    assert rewrite(SUM, older) == SUM, "an aggregate is a leaf above the frontier"


def test_a_condition_is_the_conjunction_of_its_conjuncts() -> None:
    both = conjunction((OLD, TRUE))

    assert list(conjuncts(both)) == [OLD, TRUE]
    assert conjunction(()) is None
    assert conjunction((OLD,)) == OLD
    assert list(conjuncts(None)) == []
    assert list(conjuncts(Call("or", (OLD, TRUE), Type.BOOLEAN))) == [Call("or", (OLD, TRUE), Type.BOOLEAN)]
