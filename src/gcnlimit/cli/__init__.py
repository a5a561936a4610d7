"""The command line: one verb per file, each parses, calls one function, prints a table or JSON."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import types
from typing import Any

_INTERRUPTED = (128 + signal.SIGINT, 128 + signal.SIGTERM)


def main() -> None:
    """Entry point of ``gcnlimit``: whatever becomes of its streams, or Ctrl-C at any moment, an exit status and no traceback."""
    _replace(signal.default_int_handler, signal.SIG_DFL)
    _replace(signal.SIG_DFL, _leave)
    from gcnlimit._runtime.progress import Forgiving

    os.environ["MPLBACKEND"] = "agg"  # pictures go to files, whatever window is set, or misspelt
    sys.stderr = Forgiving(sys.stderr)
    try:
        from gcnlimit.cli.app import app
    except ModuleNotFoundError as missing:
        sys.exit(
            f"gcnlimit: the command line needs {missing.name}; install it with "
            "pip install 'gcnlimit[cli]' (in a checkout: pip install '.[cli]')"
        )
    status: Any = 0
    try:
        try:
            app()
        except SystemExit as end:
            status = end.code
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as problem:
        status = 1
        print(f"Error: {problem.filename or 'the output'}: {problem.strerror}", file=sys.stderr)
        # Python would try once more to write what is left, and complain
        with contextlib.suppress(OSError, AttributeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    _replace(_interrupt, _leave)
    if status in _INTERRUPTED:  # threads may still compute what nobody needs
        os._exit(status)
    sys.exit(status)


def interruptible() -> None:
    """From here on Ctrl-C and an end from outside are exceptions, so that what was started ends, and what is done is kept."""
    _replace(_leave, _interrupt)


def _replace(handler: Any, other: Any) -> None:
    """Handle signals in another way, where they are handled as said: a process in the background ignores some."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is handler:
            signal.signal(number, other)


def _interrupt(number: int, frame: types.FrameType | None) -> None:
    """Raise an exception, but end at once while something is imported, which it would break."""
    outer = frame
    while outer is not None:
        if outer.f_code.co_filename.startswith("<frozen importlib"):
            _leave(number, frame)
        outer = outer.f_back
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    signal.signal(number, signal.SIG_IGN)  # once, so that what has been started ends undisturbed
    sys.exit(128 + number)


def _leave(number: int, _: object) -> None:
    """End at once."""
    with contextlib.suppress(OSError):
        os.write(2, b"interrupted\n" if number == signal.SIGINT else b"")
    os._exit(128 + number)
