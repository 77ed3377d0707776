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


def misfit(policy: Policy, breaches: tuple[Breach, ...]) -> PolicyError:
    """The error (DP403) that lists where a policy and its source differ, at their places in the file.

    A policy that came from no file, or whose file is no longer there, has keys instead of places.
    """
    heading = "does not fit its source"
    if policy.file is not None:
        try:
            document = read_document(_text(policy.file))
        except (PolicyError, Malformed):
            # The file has changed under the policy that was read from it.
            return _unplaced(policy, breaches, heading)
        return _error(errors.POLICY_DATA, _faults(document, breaches, policy.file), policy.file, heading)
    return _unplaced(policy, breaches, heading)


def _unplaced(policy: Policy, breaches: tuple[Breach, ...], heading: str) -> PolicyError:
    lines = [
        f"{'.'.join(map(str, breach.path))}: {breach.message}"
        + (f"\n    {breach.suggestion}" if breach.suggestion else "")
        for breach in breaches
    ]
    shown = "\n".join(_first(lines))
    return PolicyError(errors.POLICY_DATA, f"The policy {policy.id!r} {heading}:\n{shown}")


def _text(file: pathlib.Path) -> str:
    hint = "Give the path of a policy file with --policy or DPSQL_POLICY; docs/policy.md has one to copy."
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


def _error(
    code: errors.Code, faults: tuple[Fault, ...], file: pathlib.Path, heading: str | None = None
) -> PolicyError:
    number = "has a fault" if len(faults) == 1 else f"has {len(faults)} faults"
    shown = "\n".join(_first(list(map(str, faults))))
    return PolicyError(code, f"The policy {file} {heading or number}:\n{shown}", faults=faults)


def _first(lines: list[str]) -> list[str]:
    rest = len(lines) - _MAX_SHOWN
    return [*lines[:_MAX_SHOWN], f"... and {rest} more"] if rest > 0 else lines
