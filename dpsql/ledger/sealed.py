"""Can a ledger's file be read just as it lies, because nobody is to write it?"""

from __future__ import annotations

import os
import stat
from typing import Final

_WRITERS: Final = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def sealed(path: str) -> bool:
    """Whether the file or its folder cannot be written and no committed entry waits in a side file.

    SQLite reads a file in WAL mode through two side files, which it makes where it can. A sealed file needs
    none. If somebody with more rights writes it meanwhile, an audit may report faults that are none.

    Raises:
        OSError: when there is no such file.
    """
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode) or _waiting(f"{path}-wal"):
        return False
    folder = os.path.dirname(os.path.abspath(path))
    # The bits are looked at too: a superuser may write anything, and should not beside an archived copy.
    return not mode & _WRITERS or not os.access(path, os.W_OK) or not os.access(folder, os.W_OK)


def _waiting(path: str) -> bool:
    return os.path.exists(path) and os.path.getsize(path) > 0
