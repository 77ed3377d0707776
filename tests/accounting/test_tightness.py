from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def tightness() -> Any:
    spec = importlib.util.spec_from_file_location("tightness", ROOT / "benchmarks" / "tightness.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tables_in_the_documentation_are_the_computed_ones(tightness: Any) -> None:
    page = (ROOT / "docs" / "accounting.md").read_text()

    assert all(table in page for table in tightness.tables())


def test_the_portfolio_is_close_to_the_optimum_and_never_above(tightness: Any) -> None:
    for row in tightness.tightness_rows():
        portfolio, optimum = int(row[8]), int(row[9])

        assert portfolio <= optimum
        assert portfolio >= 0.92 * optimum - 1
