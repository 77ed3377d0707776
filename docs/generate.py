"""Which parts of the documentation follow from the code? Writes them between their markers.

`python docs/generate.py` rewrites, `python docs/generate.py --check` only compares.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from dpsql.errors import CODES
from dpsql.sql.expression import AggregateKind
from dpsql.sql.functions import FUNCTIONS

DOCS: Final = Path(__file__).parent

_AGGREGATES: Final[dict[AggregateKind, tuple[str, str]]] = {
    AggregateKind.COUNT_ROWS: ("`COUNT(*)`, `COUNT_IF(condition)`", "rows, each with its unit's weight"),
    AggregateKind.COUNT: ("`COUNT(x)`", "the same, where x is not NULL"),
    AggregateKind.COUNT_DISTINCT: ("`COUNT(DISTINCT unit)`", "privacy units, each once per group"),
    AggregateKind.SUM: ("`SUM(x)`", "x clipped to its bounds, on its grid"),
    AggregateKind.AVG: ("`AVG(x)`", "the centred sum and the count, both noisy, divided"),
}


def error_table() -> Iterator[str]:
    """Every error code."""
    yield "| code | what happened | meaning | who can put it right |"
    yield "|---|---|---|---|"
    for code in sorted(CODES.values(), key=lambda known: known.name):
        yield f"| {code.name} | {code.title} | {code.meaning} | {code.remedy.value} |"


def function_table() -> Iterator[str]:
    """Every function and operator of the allow-list."""
    yield "| group | functions and operators |"
    yield "|---|---|"
    for group, functions in groupby(FUNCTIONS.values(), key=lambda function: function.group):
        spelled = ", ".join(f"`{function.spelling}`".replace("|", "\\|") for function in functions)
        yield f"| {group} | {spelled} |"


def aggregate_table() -> Iterator[str]:
    """Every aggregate."""
    yield "| aggregate | what is measured |"
    yield "|---|---|"
    for kind in AggregateKind:
        spelling, meaning = _AGGREGATES[kind]
        yield f"| {spelling} | {meaning} |"


PARTS: Final[dict[str, tuple[str, Callable[[], Iterator[str]]]]] = {
    "errors": ("errors.md", error_table),
    "functions": ("sql.md", function_table),
    "aggregates": ("sql.md", aggregate_table),
}


def with_part(page: str, name: str, lines: Iterator[str]) -> str:
    """The page with the named part between its markers replaced.

    Raises:
        ValueError: the page has no such markers.
    """
    start, end = f"<!-- generated: {name} -->", f"<!-- end: {name} -->"
    if start not in page or end not in page:
        raise ValueError(f"the page has no part {name!r}")
    before, rest = page.split(start, 1)
    return f"{before}{start}\n{chr(10).join(lines)}\n{end}{rest.split(end, 1)[1]}"


def drifted() -> list[str]:
    """The parts that no longer follow from the code."""
    return [
        name
        for name, (page, part) in PARTS.items()
        if (text := (DOCS / page).read_text("utf-8")) != with_part(text, name, part())
    ]


def main() -> int:
    """Rewrite the generated parts, or with --check name those that drifted."""
    if "--check" in sys.argv[1:]:
        names = drifted()
        for name in names:
            print(f"docs/{PARTS[name][0]}: part {name} drifted; run docs/generate.py")
        return 1 if names else 0
    for name, (page, part) in PARTS.items():
        path = DOCS / page
        path.write_text(with_part(path.read_text("utf-8"), name, part()), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
