"""Arrays in one ``.npz`` file: read without executing anything, each fault of the file a sentence."""

from __future__ import annotations

import os
import struct
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit.errors import ParameterError

_UNREADABLE = (
    *(OSError, ValueError, TypeError, KeyError, EOFError, MemoryError, OverflowError, NotImplementedError, SyntaxError),
    *(RecursionError, RuntimeError, struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)
"""What NumPy and zipfile raise on files that are not as they should be: a field may lie about its size, type or compression."""


def read_arrays(path: str | os.PathLike[str], kind: str) -> dict[str, npt.NDArray[Any]]:
    """Arrays of an ``.npz`` file by name; it may hold anything, and nothing in it is executed."""
    check_path(path)
    try:
        with open(path, "rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError(f"it holds one array instead of the fields of {kind}")
            return {name: file[name] for name in file.files}
    except _UNREADABLE as error:
        raise unreadable(path, kind, error) from None


def unreadable(path: str | os.PathLike[str], kind: str, reason: object) -> ParameterError:
    """Error for a file that is not what it should be; NumPy's advice to execute what it holds is not passed on."""
    unsafe = "pickle" in str(reason)
    why = "it is not an .npz file of plain arrays" if unsafe else reason
    return ParameterError(f"path = {os.fspath(path)!r} cannot be read as {kind}: {why}")


def check_path(path: object, name: str = "path") -> None:
    """Raise `ParameterError` unless `path` may name a file."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise ParameterError(f"{name} = {path!r} is not allowed; it must name a file")
