"""What does the text of a policy file hold, and where does each value stand?"""

from __future__ import annotations

import datetime
import re
import warnings
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from dpsql.policy.breach import Breach, Mark, Path

_CORE: Final = "tag:yaml.org,2002:"
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL: Final = re.compile(r"[-+]?\.inf|\.nan", re.IGNORECASE)
_DAY: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_MAX_DIGITS: Final = 64
_MAX_DEPTH: Final = 16
_LINE_END: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")


START: Final = Mark(1, 1)


class Malformed(ValueError):
    """The text is not YAML 1.2. Attribute: ``mark``."""

    def __init__(self, message: str, mark: Mark) -> None:
        self.mark = mark
        super().__init__(message)


@dataclass(slots=True)
class Document:
    """The values of a text, and where keys and values stand in it.

    `data` holds dict, list, str, int, bool, None, Decimal and date; numbers are read from their text exactly.
    `breaches` are the values that could not be read and are not in `data`, and the keys that appear twice, of
    which the first is.
    """

    text: str
    data: dict[str, Any] = field(default_factory=dict)
    breaches: list[Breach] = field(default_factory=list)
    keys: dict[Path, Mark] = field(default_factory=dict)
    values: dict[Path, Mark] = field(default_factory=dict)

    def mark(self, breach: Breach) -> Mark:
        """Where a breach is shown: at its value, or at its key if it asks for that or is about a mapping."""
        if breach.mark is not None:
            return breach.mark
        path = breach.path
        while path and path not in self.values:
            path = path[:-1]
        if not path:
            return START
        at_key = breach.at_key or path != breach.path or self._is_mapping(path)
        return self.keys.get(path, self.values[path]) if at_key else self.values[path]

    def _is_mapping(self, path: Path) -> bool:
        value: Any = self.data
        for step in path:
            try:
                value = value[step]
            except (KeyError, IndexError, TypeError):
                return False
        return isinstance(value, dict)

    def line(self, number: int) -> str:
        """The line of that number, cut to a printable length."""
        lines = _LINE_END.split(self.text)
        shown = lines[number - 1][:200] if number <= len(lines) else ""
        return "".join(char if char.isprintable() or char == "\t" else "?" for char in shown)


def read_document(text: str) -> Document:
    """Read a YAML 1.2 text whose top is a mapping.

    Raises:
        Malformed: the text is not YAML, is empty, or its top is no mapping.
    """
    root = _compose(text)
    if not isinstance(root, MappingNode) or root.tag != f"{_CORE}map":
        raise Malformed("a policy is a mapping: lines of `key: value`", START)
    document = Document(text)
    document.data = _Reader(document).read(root, ())
    return document


def _compose(text: str) -> Node | None:
    yaml = YAML(typ="safe", pure=True)
    try:
        with warnings.catch_warnings():
            # An anchor defined twice is a warning there; here every use of an anchor is refused.
            warnings.simplefilter("ignore")
            node: Node | None = yaml.compose(text)
            return node
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = START if mark is None else Mark(mark.line + 1, mark.column + 1)
        raise Malformed(f"not YAML: {error.problem or error.context}", where) from error
    except YAMLError as error:
        raise Malformed(
            "not YAML: a character that a YAML text cannot hold", _reader_mark(text, error)
        ) from error
    except RecursionError as error:
        raise Malformed("nested too deeply", START) from error


def _reader_mark(text: str, error: YAMLError) -> Mark:
    position = getattr(error, "position", 0)
    lines = _LINE_END.split(text[:position])
    return Mark(len(lines), len(lines[-1]) + 1)


class _Unreadable(ValueError):
    """A node that has no value in a policy."""


class _Reader:
    """Turns nodes into values and notes where they stand."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.seen: set[int] = set()

    def read(self, node: Node, path: Path) -> Any:
        self.document.values[path] = _mark(node)
        if len(path) > _MAX_DEPTH:
            raise _Unreadable("nested too deeply")
        if id(node) in self.seen:
            raise _Unreadable("anchors and aliases are not supported: write the value out")
        self.seen.add(id(node))
        match node:
            case MappingNode() if node.tag == f"{_CORE}map":
                return self._mapping(node, path)
            case SequenceNode() if node.tag == f"{_CORE}seq":
                return self._sequence(node, path)
            case ScalarNode():
                return _scalar(node)
            case _:
                raise _Unreadable(f"the tag {node.tag} is not supported")

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        known: set[str] = set()
        for key, value in node.value:
            name = key.value if isinstance(key, ScalarNode) else None
            if name is None or _SURROGATE.search(name):
                self._breach(path, "a key must be a text")
                continue
            at: Path = (*path, name)
            if name in known:
                message = f"the key `{name}` appears twice"
                self.document.breaches.append(Breach(at, message, mark=_mark(key)))
                continue
            known.add(name)
            self.document.keys[at] = _mark(key)
            self._entry(values, value, at)
        return values

    def _entry(self, values: dict[str, Any], node: Node, path: Path) -> None:
        try:
            value = self.read(node, path)
        except _Unreadable as fault:
            self._breach(path, str(fault))
            return
        if value is None:
            message = f"`{path[-1]}` has no value: give one, or delete the line"
            self.document.breaches.append(Breach(path, message, at_key=True))
            return
        values[str(path[-1])] = value

    def _sequence(self, node: SequenceNode, path: Path) -> list[Any]:
        values: list[Any] = []
        for index, element in enumerate(node.value):
            try:
                values.append(self.read(element, (*path, index)))
            except _Unreadable as fault:
                self._breach((*path, index), str(fault))
                values.append(None)
        return values

    def _breach(self, path: Path, message: str) -> None:
        self.document.breaches.append(Breach(path, message))


def _mark(node: Node) -> Mark:
    return Mark(node.start_mark.line + 1, node.start_mark.column + 1)


def _scalar(node: ScalarNode) -> Any:
    text: str = node.value
    match (node.tag or "").removeprefix(_CORE):
        case "str":
            return _text(text)
        case "null":
            return None
        case "bool":
            return _boolean(text)
        case "int" | "float":
            return _number(text)
        case "timestamp":
            return _day(text)
        case _:
            raise _Unreadable(f"the tag {node.tag} is not supported")


def _text(text: str) -> str:
    if _SURROGATE.search(text):
        raise _Unreadable("half a surrogate pair is no character")
    return text


def _boolean(text: str) -> bool:
    folded = text.lower()
    if folded not in ("true", "false"):
        raise _Unreadable(f"write true or false, not {text[:20]}")
    return folded == "true"


def _number(text: str) -> int | Decimal:
    if len(text) > _MAX_DIGITS:
        raise _Unreadable(f"a number of more than {_MAX_DIGITS} characters")
    if _INTEGER.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text) and not text.lstrip("+-").isdigit():
        return Decimal(text)
    if _SPECIAL.fullmatch(text):
        return Decimal(text.lower().replace(".", ""))
    raise _Unreadable(f"write {text} as a decimal number without leading zeros or underscores")


def _day(text: str) -> datetime.date:
    if not _DAY.fullmatch(text):
        raise _Unreadable("a moment is not supported: write a date such as 2024-01-31, or a text in quotes")
    try:
        return datetime.date.fromisoformat(text)
    except ValueError as fault:
        raise _Unreadable(f"{text} is no date") from fault
