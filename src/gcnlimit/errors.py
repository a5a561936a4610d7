"""The few ways in which a call can fail."""

__all__ = ["ConvergenceError", "GCNLimitError", "ParameterError"]


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
