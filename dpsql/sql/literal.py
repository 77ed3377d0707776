"""What was asked, without the constants that can name people?"""

from __future__ import annotations

import re
from typing import Final

from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import SqlglotError

HIDDEN: Final = "?"
UNREADABLE: Final = "(a text that cannot be read as SQL)"
_KEPT: Final = re.compile(r'[^\W\d]\w*(?:\s+[^\W\d]\w*)*|"(?:[^"]|"")*"|[^\w\s\'"$]+')


def without_literals(text: str) -> str:
    """The SQL text with a question mark for each literal, without comments, one space between words.

    What is not surely a word, a quoted name or an operator counts as a literal. Names stay, those that the
    query gives to its columns included.

    >>> without_literals("SELECT COUNT(*) AS n FROM t WHERE name = 'Ada' /* Ada */ AND age > 3")
    'SELECT COUNT(*) AS n FROM t WHERE name = ? AND age > ?'
    """
    try:
        tokens = DuckDB().tokenize(text)
    except SqlglotError:
        return UNREADABLE
    parts: list[str] = []
    end = 0
    for token in tokens:
        word = text[token.start : token.end + 1]
        apart = token.start > end
        end = token.end + 1
        if not apart and parts and parts[-1] == HIDDEN and (word[0].isalnum() or word[0] == "_"):
            continue  # the tail of a number such as 0xFF
        if apart and parts:
            parts.append(" ")
        parts.append(" ".join(word.split()) if _KEPT.fullmatch(word) else HIDDEN)
    return "".join(parts)
