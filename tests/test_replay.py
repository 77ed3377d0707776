"""Is the same question free in another process?"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.reference.clinic import POLICY, build

ASK = """
import sys, dpsql
with dpsql.connect(sys.argv[1]) as connection:
    release = connection.execute(sys.argv[2]).release
    print(release.replayed, release.rows)
"""


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT h.city, COUNT(*) FROM patients p JOIN hospitals h ON p.hospital = h.hospital GROUP BY h.city",
        "SELECT diagnosis, sex, COUNT(*) FROM patients WHERE sex IN ('F', 'M') GROUP BY diagnosis, sex",
    ],
)
def test_a_repeat_in_a_process_with_other_hash_seeds_is_replayed(tmp_path: Path, sql: str) -> None:
    (tmp_path / "clinic.yaml").write_text(POLICY.read_text("utf-8"), "utf-8")
    build(tmp_path / "clinic.duckdb")

    answers = [
        subprocess.run(
            [sys.executable, "-c", ASK, str(tmp_path / "clinic.yaml"), sql],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(Path(__file__).parent.parent)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split(" ", 1)
        for seed in ("1", "2", "3")
    ]

    assert [replayed for replayed, _ in answers] == ["False", "True", "True"]
    assert answers[0][1] == answers[1][1] == answers[2][1]
