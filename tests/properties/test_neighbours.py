"""No unit moves the exact cells of the SQL that runs further than its plan says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dpsql.engine.duckdb import DuckDBBackend
from dpsql.policy.model import Policy
from tests.properties.neighbours import SHAPES, Case, Laboratory, breaches, case, fine
from tests.strategies import Database, databases, random_database, store, visit_queries

ALL = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
EVERYDAY = settings(
    max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=ALL
)
LONG = settings(max_examples=400, deadline=None, database=None, suppress_health_check=ALL)


@dataclass(frozen=True)
class World:
    """The registry's policy and public facts; no plan depends on more."""

    policy: Policy = field(repr=False)
    backend: DuckDBBackend = field(repr=False)
    laboratory: Laboratory = field(repr=False)

    def case(self, sql: str) -> Case:
        return case(sql, self.policy, self.backend.facts)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    policy = store(tmp_path_factory.mktemp("registry"))
    backend = DuckDBBackend(policy)
    yield World(policy, backend, Laboratory())
    backend.close()


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[Database, int]:
    """A database and one of its units."""
    database = draw(databases())
    units = database.units
    return database, units[draw(st.integers(0, 6)) % len(units)] if units else 1


def check(world: World, sql: str, pair: tuple[Database, int]) -> None:
    found = world.case(sql)
    exact = fine(found, world.policy)

    assert list(breaches(world.laboratory, exact, *pair)) == []
    if exact != found:
        assert list(breaches(world.laboratory, found, *pair)) == []


@pytest.mark.parametrize("shape", SHAPES)
@EVERYDAY
@given(pair=neighbours())
def test_one_unit_moves_no_cell_further_than_declared(
    world: World, shape: str, pair: tuple[Database, int]
) -> None:
    check(world, SHAPES[shape], pair)


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
@LONG
@given(pair=neighbours())
def test_one_unit_moves_no_cell_further_than_declared_in_many_databases(
    world: World, shape: str, pair: tuple[Database, int]
) -> None:
    check(world, SHAPES[shape], pair)


@settings(EVERYDAY, max_examples=40)
@given(sql=visit_queries(), pair=neighbours())
def test_one_unit_moves_no_cell_of_any_query_further_than_declared(
    world: World, sql: str, pair: tuple[Database, int]
) -> None:
    check(world, sql, pair)


@pytest.mark.slow
@settings(LONG, max_examples=4000)
@given(sql=visit_queries(), pair=neighbours())
def test_one_unit_moves_no_cell_of_many_queries_further_than_declared(
    world: World, sql: str, pair: tuple[Database, int]
) -> None:
    check(world, sql, pair)


# --- the oracle sees what it should: each fault is planted, and must be found ---------------------------


def is_caught(world: World, planted: Case) -> bool:
    """Whether one of many databases shows the fault."""
    pairs = ((database, unit) for database in map(random_database, range(100)) for unit in database.units)
    return any(any(breaches(world.laboratory, planted, *pair)) for pair in pairs)


@pytest.mark.parametrize("shape", ["private_key", "mixed_keys", "units_beyond_a_mask", "path_private_key"])
def test_a_group_cap_that_is_one_too_high_is_caught(world: World, shape: str) -> None:
    found = world.case(SHAPES[shape])
    most = found.plan.analysis.partitioning.touched

    assert is_caught(world, found.patched(f" <= {most}\n", f" <= {most + 1}\n"))


@pytest.mark.parametrize("shape", ["rows", "public_key", "private_key", "constant_key", "certain_count"])
def test_a_missing_lower_clip_is_caught(world: World, shape: str) -> None:
    found = fine(world.case(SHAPES[shape]), world.policy)
    clip = re.search(r"WHEN (\S+) < \S+ THEN \S+ ELSE", found.program.sql)
    assert clip is not None

    assert is_caught(world, found.patched(clip.group(), f"WHEN {clip[1]} < -1000000 THEN -1000000 ELSE"))


@pytest.mark.parametrize("shape", ["private_key_average", "constant_null_group"])
def test_weights_on_the_numerator_alone_are_caught(world: World, shape: str) -> None:
    found = world.case(SHAPES[shape])
    count = re.search(r"SUM\((s2|n) \* w\) AS c2", found.program.sql)
    assert count is not None

    assert is_caught(world, found.patched(count.group(), f"SUM({count.group(1)} * 1024) AS c2"))


@pytest.mark.parametrize("shape", ["rows", "public_key", "private_key", "long_path"])
def test_weights_of_one_for_everybody_are_caught(world: World, shape: str) -> None:
    found = world.case(SHAPES[shape])
    weight = re.search(r"ELSE CAST\(\d+ // .*? AS \w+\) END AS w", found.program.sql)
    assert weight is not None

    assert is_caught(world, found.patched(weight.group(), "ELSE 1024 END AS w"))


@pytest.mark.parametrize("shape", ["constant_key_of_many", "constant_null_group"])
def test_a_constant_that_is_trusted_is_caught(world: World, shape: str) -> None:
    found = world.case(SHAPES[shape])
    name = found.plan.analysis.query.keys[0].name  # type: ignore[union-attr]

    assert is_caught(world, found.patched(f'f."{name}"', f't."{name}"'))


def test_a_duplicated_parent_key_is_caught(world: World) -> None:
    found = world.case(SHAPES["path"])

    assert is_caught(
        world,
        found.patched(
            'SELECT p."visit_id" AS key, MIN(p."person_id") AS unit',
            'SELECT p."visit_id" AS key, p."person_id" AS unit',
        ).patched(" GROUP BY 1) o", ") o"),
    )


@pytest.mark.parametrize("figure", ["l1", "l2_squared", "cells"])
def test_a_sensitivity_that_is_too_low_is_caught(world: World, figure: str) -> None:
    found = world.case(SHAPES["units_by_null_group"])
    first, *others = found.plan.analysis.sensitivities
    low = replace(first, **{figure: getattr(first, figure) - 1})
    analysis = replace(found.plan.analysis, sensitivities=(low, *others))

    assert is_caught(world, replace(found, plan=replace(found.plan, analysis=analysis)))
