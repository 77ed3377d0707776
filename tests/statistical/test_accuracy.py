"""Do the people workload's answers have the errors that their plans state, and are these small enough?"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import people
from benchmarks.accuracy import figures
from dpsql.mechanisms import Sampler
from dpsql.plan.plan import Plan
from dpsql.session import Session

SAMPLES = 200_000
"""A deviation of so many draws is within 2 % of the true one but for a chance below 1e-20."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("people")
    people.build(path)
    return path


@pytest.fixture(scope="module")
def plans(folder: Path) -> dict[str, Plan]:
    session = Session.open(people.policy(folder, 10), ":memory:")
    found = {name: session.explain(sql) for name, sql in people.QUERIES.items()}
    session.close()
    return {name: plan for name, plan in found.items() if isinstance(plan, Plan)}


def test_every_figure_of_the_people_workload_reaches_its_target(folder: Path) -> None:
    for figure in figures(folder):
        assert figure.reached <= figure.target, figure.name


@pytest.mark.statistical
def test_drawn_noise_has_the_deviation_that_the_plan_states(plans: dict[str, Plan]) -> None:
    source = Sampler()

    for name, plan in plans.items():
        for part in plan.measurements:
            drawn = part.noise.mechanism.draw(source, SAMPLES) * float(part.step)
            factor = np.sqrt(2) if part.mechanism == "laplace" else 1
            assert np.std(drawn) == pytest.approx(part.scale * factor, rel=0.02), (name, part.sql)


@pytest.mark.statistical
def test_error_bars_hold_in_95_of_100_cases(plans: dict[str, Plan]) -> None:
    source = Sampler()

    for name, plan in plans.items():
        for part in plan.measurements:
            drawn = part.noise.mechanism.draw(source, SAMPLES) * float(part.step)
            inside = np.mean(np.abs(drawn) <= part.error)
            assert inside == pytest.approx(0.95, abs=0.005), (name, part.sql)
