"""The plan, the price and the SQL of typical queries are those that were looked at and found right.

`pytest tests/golden --update-golden` writes them anew; read the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from dpsql.mechanisms import SilentSampler
from tests.golden.golden import Golden, describe, read
from tests.golden.register import register
from tests.reference.clinic import Database, priced

GOLDEN: Final = [read(path) for path in sorted(Path(__file__).parent.glob("*.sql"))]


@pytest.fixture(scope="module")
def databases(hospital: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Database]]:
    with register(tmp_path_factory.mktemp("register")) as shop:
        yield {"clinic": hospital, "register": shop}


@pytest.mark.parametrize("golden", GOLDEN, ids=lambda golden: golden.path.stem)
def test_the_plan_is_the_one_that_was_found_right(
    golden: Golden, databases: dict[str, Database], pytestconfig: pytest.Config
) -> None:
    database, analyst = databases[golden.settings["policy"]], golden.settings.get("analyst", "analyst")
    with database.session(analyst=analyst, noise=SilentSampler()) as session:
        plan = priced(session, golden.sql, golden.terms)
        release = session.answer(golden.sql, (), golden.terms)

    planned = describe(plan, release)
    if pytestconfig.getoption("--update-golden"):
        golden.write(planned)
    else:
        assert planned == golden.planned


def test_there_are_enough_of_them_and_each_was_looked_at() -> None:
    assert len(GOLDEN) >= 20
    assert all("-- sql:" in golden.planned for golden in GOLDEN)
