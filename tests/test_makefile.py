"""Does make say why none of the interpreters will do?"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_words_of_an_interpreter_that_does_not_run_are_shown(tmp_path: Path) -> None:
    shim = tmp_path / "python3.12"
    shim.write_text("#!/bin/sh\necho 'pyenv: python3.12: version is not active' >&2\nexit 127\n")
    shim.chmod(0o755)

    result = subprocess.run(
        ["make", "-f", str(ROOT / "Makefile"), ".venv/bin/python", f"PYTHON={shim}"],  # noqa: S607 - the make on the path
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert result.returncode == 2
    assert f"{shim}: pyenv: python3.12: version is not active" in result.stderr
    assert "PYTHON=/path/to/python" in result.stderr
