"""Which promise does this file hold, or what is wrong with it?"""

from __future__ import annotations

import pathlib
from collections.abc import Iterable
from typing import Final

from dpsql import errors
from dpsql.errors import Fault, PolicyError
from dpsql.policy.breach import Breach
from dpsql.policy.document import Document, Malformed, read_document
from dpsql.policy.model import Policy
from dpsql.policy.validation import check

_MAX_SHOWN: Final = 50


def load(path: str | pathlib.Path) -> Policy:
    """Read a policy file; the paths in it are relative to its folder.

    Raises:
        PolicyError: the file cannot be read (DP400), or breaks the rules of a policy (DP401). The message and
            `.faults` list every fault with its line and column.
    """
    file = pathlib.Path(path)
    return parse(_text(file), file)


def parse(text: str, file: pathlib.Path) -> Policy:
    """Read the text of a policy that is, or will be, stored as `file`.

    Raises:
        PolicyError: as in `load`.
    """
    try:
        document = read_document(text)
    except Malformed as malformed:
        mark = malformed.mark
        line = Document(text).line(mark.line)
        fault = Fault(str(malformed), str(file), mark.line, mark.column, line)
        raise _error(errors.POLICY_FILE, (fault,), file) from malformed
    policy, breaches = check(document, file)
    if policy is None:
        raise _error(errors.POLICY_INVALID, _faults(document, breaches, file), file)
    return policy


def _text(file: pathlib.Path) -> str:
    hint = "Give the path of a policy file with --policy or DPSQL_POLICY; `dpsql policy init` writes one."
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError as error:
        message = f"The policy {file} cannot be read: {error.strerror or 'not a file'}."
        raise PolicyError(errors.POLICY_FILE, message, hint=hint) from error
    except ValueError as error:
        message = f"The policy {file} cannot be read: it is not a UTF-8 text."
        raise PolicyError(errors.POLICY_FILE, message, hint="Save the file as UTF-8.") from error


def _faults(document: Document, breaches: Iterable[Breach], file: pathlib.Path) -> tuple[Fault, ...]:
    placed = sorted(
        ((document.mark(breach), breach) for breach in breaches),
        key=lambda pair: (pair[0].line, pair[0].column),
    )
    return tuple(
        Fault(breach.message, str(file), mark.line, mark.column, document.line(mark.line), breach.suggestion)
        for mark, breach in placed
    )


def _error(code: errors.Code, faults: tuple[Fault, ...], file: pathlib.Path) -> PolicyError:
    number = "a fault" if len(faults) == 1 else f"{len(faults)} faults"
    shown = "\n".join(map(str, faults[:_MAX_SHOWN]))
    rest = f"\n... and {len(faults) - _MAX_SHOWN} more" if len(faults) > _MAX_SHOWN else ""
    return PolicyError(code, f"The policy {file} has {number}:\n{shown}{rest}", faults=faults)
