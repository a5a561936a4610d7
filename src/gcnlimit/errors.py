"""The few ways in which a call can fail, and files that cannot be written."""

import contextlib
import errno
import os
from collections.abc import Collection, Iterator
from pathlib import Path


class GCNLimitError(Exception):
    """Base class of everything this library raises on purpose; the message is one line, whatever it quotes."""

    def __init__(self, message: str = "") -> None:
        super().__init__(" ".join(str(message).split()))


class ParameterError(GCNLimitError, ValueError):
    """A parameter has a value that is not allowed; the message names it, its value and what is allowed.

    >>> import gcnlimit as gl
    >>> gl.Diffusion(t=float("inf"))
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: t = inf is not allowed; it must be finite
    """


class ConvergenceError(GCNLimitError, RuntimeError):
    """A fixed point was not reached; the message says where and what to try."""


@contextlib.contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in one sentence why a file could not be written."""
    try:
        yield
    except OSError as problem:
        folder = os.path.dirname(os.fspath(path)) or os.curdir
        reason = f"{problem.strerror or problem}; choose another file"
        if not os.path.isdir(folder):
            reason = f"there is no folder {folder}; make it, or choose another"
        raise ParameterError(f"{os.fspath(path)} cannot be written: {reason}") from None


def check_writable(path: str | os.PathLike[str], endings: Collection[str] = ()) -> None:
    """Refuse, before anything is computed, a file that could not be written afterwards, or that has none of the `endings`."""
    path = Path(path)
    if endings and path.suffix.lower() not in endings:
        raise ParameterError(f"{path} cannot be written: its name must end in {', '.join(endings)}")
    with writing(path):
        problem = errno.EISDIR if path.is_dir() else errno.EACCES
        place = path if path.exists() else path.absolute().parent
        if path.is_dir() or not os.access(place, os.W_OK):
            raise OSError(problem, os.strerror(problem))
