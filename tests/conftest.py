"""The databases that several tests share, and the option that rewrites golden files."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

from tests.reference.clinic import Database, clinic

# Everyday runs try the same examples each time, so that a change is judged by the change alone; `make audit`
# explores new ones. No test has a deadline: machines are shared.
settings.register_profile("everyday", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "everyday"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write the golden files anew")


@pytest.fixture(scope="session")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The clinic with all its patients."""
    with clinic(tmp_path_factory.mktemp("clinic")) as database:
        yield database


@pytest.fixture(scope="session")
def neighbour(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """The clinic without patient 1, whose diagnosis nobody shares and who has by far the most visits."""
    with clinic(tmp_path_factory.mktemp("clinic"), without=1) as database:
        yield database
