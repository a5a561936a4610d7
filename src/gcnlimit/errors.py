"""The few ways in which a call can fail."""

import contextlib
import os
from collections.abc import Iterator


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
    """Say in one sentence why a file could not be written.

    >>> with writing("missing/graph.npz"), open("missing/graph.npz", "wb"):
    ...     pass
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: missing/graph.npz cannot be written: there is no folder missing; make it, or choose another
    """
    try:
        yield
    except OSError as problem:
        folder = os.path.dirname(os.fspath(path)) or os.curdir
        reason = f"{problem.strerror or problem}; choose another file"
        if not os.path.isdir(folder):
            reason = f"there is no folder {folder}; make it, or choose another"
        raise ParameterError(f"{os.fspath(path)} cannot be written: {reason}") from None
