"""The few ways in which a call can fail, and files that cannot be written."""

import contextlib
import errno
import os
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path


class GCNLimitError(Exception):
    """Base class of everything this library raises on purpose; the message is one line, whatever it quotes, and not long."""

    def __init__(self, message: str = "") -> None:
        words = " ".join(str(message).split())
        super().__init__(words if len(words) < 2000 else f"{words[:1500]} ... {words[-400:]}")


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
def writing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Path of a new file that takes the place of `path` once it is written; if that fails, the old file stays as it was.

    A device or a pipe, and a file in a folder that takes no others, is written to directly.
    """
    with cannot_write(path):
        place = Path(os.path.realpath(path))
        there = place.exists() and not (place.is_file() and os.access(place.parent, os.W_OK))
        beside = place if there else place.with_name(f".{os.urandom(8).hex()}{place.suffix[:20]}")
        try:
            yield beside
            if beside != place:
                if place.exists():
                    shutil.copymode(place, beside)
                os.replace(beside, place)
        finally:
            if beside != place:
                beside.unlink(missing_ok=True)


@contextlib.contextmanager
def cannot_write(path: str | os.PathLike[str]) -> Iterator[None]:
    """Say in one sentence why a file could not be written."""
    try:
        yield
    except OSError as problem:
        folder = os.path.dirname(os.fspath(path)) or os.curdir
        told = os.strerror(problem.errno) if problem.errno else problem
        reason = f"{told}; choose another file"
        if not os.path.isdir(folder):
            reason = f"there is no folder {folder}; make it, or choose another"
        raise ParameterError(f"{os.fspath(path)} cannot be written: {reason}") from None


def check_writable(path: str | os.PathLike[str], endings: Collection[str] = ()) -> None:
    """Refuse, before anything is computed, a file that could not be written afterwards, or that has none of the `endings`."""
    path = Path(path)
    if endings and path.suffix.lower() not in endings:
        raise ParameterError(f"{path} cannot be written: its name must end in {', '.join(endings)}")
    with cannot_write(path):
        problem = errno.EISDIR if path.is_dir() else errno.EACCES
        place = path if path.exists() else path.absolute().parent
        if path.is_dir() or not os.access(place, os.W_OK):
            raise OSError(problem, os.strerror(problem))
