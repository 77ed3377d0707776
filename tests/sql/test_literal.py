"""Are constants hidden whatever they look like, and is the question still readable?"""

from __future__ import annotations

import pytest

from dpsql.sql.literal import UNREADABLE, without_literals


def test_the_question_stays_readable_without_its_constants() -> None:
    text = """
        SELECT department, COUNT(*) AS n -- for Ada
        FROM visits WHERE charge > 200.5 AND day >= DATE '2024-01-31' AND id = ?
        GROUP  BY department
    """

    assert without_literals(text) == (
        "SELECT department, COUNT(*) AS n FROM visits WHERE charge > ? AND day >= DATE ? AND id = ?"
        " GROUP BY department"
    )


@pytest.mark.parametrize(
    "constant",
    [
        "'Ada'",
        "'A''Ada'",
        "E'Ada\\n'",
        "N'Ada'",
        "x'Ada'",
        "$$Ada$$",
        "$tag$ Ada $tag$",
        "'x' 'Ada'",
        "0xADA",
        "5Ada",
        "1 /* Ada */",
        "1 -- Ada",
        "1 /*+ Ada */",
    ],
)
def test_no_spelling_of_a_constant_or_comment_shows_it(constant: str) -> None:
    shown = without_literals(f"SELECT COUNT(*) FROM t WHERE a = {constant}")

    assert shown.startswith("SELECT COUNT(*) FROM t WHERE a = ")
    assert "ada" not in shown.lower()


def test_a_text_that_is_no_sql_is_not_shown_at_all() -> None:
    assert without_literals("SELECT 'Ada") == UNREADABLE


def test_quoted_names_stay() -> None:
    assert without_literals('SELECT "odd name" FROM t') == 'SELECT "odd name" FROM t'
