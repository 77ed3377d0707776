"""The databases that several tests share, and the option that rewrites golden files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reference.clinic import Database, clinic


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
