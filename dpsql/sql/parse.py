"""Is this text one SELECT of a size we read?

The parser is sqlglot's; before it runs, the text is measured without recursion, because its parser is
recursive, and after it every number is checked, because it lexes ``1e0+5`` as one literal.
"""

from __future__ import annotations

import re
from typing import ClassVar, Final

from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB
from sqlglot.errors import ErrorLevel, SqlglotError
from sqlglot.parsers.duckdb import DuckDBParser
from sqlglot.tokenizer_core import TokenType

from dpsql import errors
from dpsql.errors import Position, ProgrammingError, UnsupportedQuery

MAX_BYTES: Final = 64 * 1024
MAX_NESTING: Final = 40
MAX_NODES: Final = 2_000
MAX_TYPE_NESTING: Final = 3
MAX_DEPTH: Final = 100

_NUMBER: Final = re.compile(r"(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_SKIPPED: Final = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)
_BRACKETS: Final = re.compile(r"([A-Za-z_]\w*)?\s*\(|\)")
_TYPE_WORDS: Final = frozenset(
    word for word, token in DuckDB.Tokenizer.KEYWORDS.items() if token in DuckDBParser.TYPE_TOKENS
)
_WORD: Final = re.compile(r"[A-Za-z_]+")
_UNARY_RUN: Final = re.compile(rf"(?:\b(?:not|case)\b\s*|[-+~!]\s*){{{MAX_NESTING},}}", re.IGNORECASE)


class _Dialect(DuckDB):
    """DuckDB's SQL whose only parameters are question marks, each known by its place in the text."""

    class Parser(DuckDBParser):
        PLACEHOLDER_PARSERS: ClassVar = {
            TokenType.PLACEHOLDER: lambda self: self.expression(exp.Placeholder(this=str(self._prev.start)))
        }


def parse(text: str) -> exp.Select:
    """Read one SELECT statement.

    Raises:
        ProgrammingError: DP100 when it is not SQL, DP107 when it is over a size limit.
        UnsupportedQuery: DP200 when it is another statement or more than one.
    """
    _measure(text)
    _check_first_word(text)
    statements = _statements(text)
    if len(statements) != 1:
        raise UnsupportedQuery(errors.NOT_A_QUERY, "Exactly one statement is answered at a time.")
    statement = statements[0]
    if not isinstance(statement, exp.Select):
        raise UnsupportedQuery(
            errors.NOT_A_QUERY,
            f"{_kind(statement)} is not answered; dpsql answers single SELECT statements.",
            hint="Write one SELECT with aggregates, such as SELECT COUNT(*) FROM t.",
        )
    if not statement.expressions:
        raise ProgrammingError(errors.SYNTAX, "The SELECT shows no column.")
    _check_nodes(statement)
    return statement


def _check_first_word(text: str) -> None:
    # Commands such as EXPLAIN must not reach the parser: it would print its doubts to standard error.
    word = _WORD.search(_SKIPPED.sub(" ", text))
    if word is not None and word.group().upper() not in ("SELECT", "WITH", "FROM", "TABLE", "VALUES"):
        raise UnsupportedQuery(
            errors.NOT_A_QUERY,
            f"{word.group().upper()} is not answered; dpsql answers single SELECT statements.",
            hint="Write one SELECT with aggregates, such as SELECT COUNT(*) FROM t.",
        )


def _kind(statement: exp.Expr) -> str:
    return re.sub(r"(?<!^)(?=[A-Z])", " ", type(statement).__name__).upper()


def _measure(text: str) -> None:
    if len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
        raise ProgrammingError(errors.TOO_LARGE, f"The query is longer than {MAX_BYTES} bytes.")
    if any(ord(char) < 32 and char not in "\t\n\r" for char in text):
        raise ProgrammingError(errors.SYNTAX, "The query holds a control character.")
    if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        raise ProgrammingError(errors.SYNTAX, "The query holds half of a surrogate pair.")
    bare = _SKIPPED.sub(" ", text)
    if _type_depth(bare) > MAX_TYPE_NESTING:
        raise ProgrammingError(
            errors.TOO_LARGE, f"The query nests names of types deeper than {MAX_TYPE_NESTING} levels."
        )
    # Both with and without the quoted parts: a quote inside a comment must not hide brackets.
    for candidate in (text, bare):
        if _depth(candidate) > MAX_NESTING or _UNARY_RUN.search(candidate):
            raise ProgrammingError(errors.TOO_LARGE, f"The query nests deeper than {MAX_NESTING} levels.")


def _type_depth(text: str) -> int:
    """How deep calls are nested whose names are those of types: the parser tries each in two ways."""
    open_types: list[bool] = []
    deepest = 0
    for token in _BRACKETS.finditer(text):
        if token.group() == ")":
            open_types[-1:] = []
            continue
        open_types.append((token.group(1) or "").upper() in _TYPE_WORDS)
        deepest = max(deepest, sum(open_types))
    return deepest


def _depth(text: str) -> int:
    depth = deepest = 0
    for char in text:
        if char in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif char in ")]}":
            depth = max(0, depth - 1)
    return deepest


def _statements(text: str) -> list[exp.Expr]:
    try:
        parsed = _Dialect().parse(text, error_level=ErrorLevel.IMMEDIATE)
    except SqlglotError as fault:
        raise ProgrammingError(
            errors.SYNTAX, "The text does not parse as SQL.", position=_fault_position(fault)
        ) from None
    except RecursionError:
        raise ProgrammingError(errors.TOO_LARGE, "The query nests too deeply.") from None
    except (LookupError, AttributeError, TypeError, ValueError):
        # The parser's own builders trip over calls with too few arguments, such as VAR_MAP().
        raise ProgrammingError(errors.SYNTAX, "The text does not parse as SQL.") from None
    statements = [statement for statement in parsed if statement is not None]
    if not statements:
        raise ProgrammingError(errors.SYNTAX, "The text holds no statement.")
    return statements


def _fault_position(fault: SqlglotError) -> Position | None:
    details = getattr(fault, "errors", None)
    if not details or details[0].get("line") is None:
        return None
    return Position(details[0]["line"], details[0]["col"])


def _check_nodes(statement: exp.Select) -> None:
    # Without recursion: a long chain of operators is a deep tree, though it nests no brackets.
    count = 0
    waiting: list[tuple[exp.Expr, int]] = [(statement, 0)]
    while waiting:
        node, depth = waiting.pop()
        count += 1
        if count > MAX_NODES:
            raise ProgrammingError(errors.TOO_LARGE, f"The query has more than {MAX_NODES} parts.")
        if depth > MAX_DEPTH:
            raise ProgrammingError(
                errors.TOO_LARGE,
                f"The query chains more than about {MAX_DEPTH} operators.",
                hint="Write a list of values with IN.",
            )
        _check_number(node)
        waiting.extend((child, depth + 1) for child in node.iter_expressions(reverse=True))


def _check_number(node: exp.Expr) -> None:
    if isinstance(node, exp.Literal) and not node.is_string and not _NUMBER.fullmatch(node.name):
        raise ProgrammingError(
            errors.SYNTAX,
            "A number is not written plainly.",
            hint="Put spaces around operators.",
            position=position_of(node),
        )


def position_of(node: exp.Expr) -> Position | None:
    """Where a part of the tree starts in the text, as near as the parser recorded it."""
    for part in node.walk():
        meta = part.meta
        if "line" in meta:
            width = meta.get("end", 0) - meta.get("start", 0)
            return Position(meta["line"], max(1, meta["col"] - width))
    return None
