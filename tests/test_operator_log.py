"""Does the operator's log stay away from whoever uses dpsql as a library?"""

from __future__ import annotations

import subprocess
import sys

FAIL = "logging.getLogger('dpsql.operator').error('run of receipt 7 failed: OutOfMemoryException')"


def stderr(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr


def test_records_that_nobody_handles_are_not_printed() -> None:
    assert stderr(f"import logging, dpsql; {FAIL}") == ""


def test_an_operator_who_asks_for_the_records_gets_them() -> None:
    assert "receipt 7" in stderr(f"import logging, dpsql; logging.basicConfig(); {FAIL}")
