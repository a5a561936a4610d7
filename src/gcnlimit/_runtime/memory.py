"""Memory asked for beforehand: what a computation would need, against what there is."""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from gcnlimit.errors import ParameterError

VARIABLE = "GCNLIMIT_MEMORY"
GB = 1e9
_ASIDE = 0.2e9  # bytes that a process may take for itself

_most: ContextVar[float] = ContextVar("most", default=math.inf)


@contextlib.contextmanager
def at_most(size: float) -> Iterator[None]:
    """Allow no more bytes than this to a computation for somebody else, however many there are.

    On Linux the process is refused more, whatever was estimated: what asks for it is a `MemoryError`.
    """
    with contextlib.ExitStack() as ended:
        ended.callback(_most.reset, _most.set(size))
        if used := _lines("/proc/self/statm"):
            import resource

            soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
            most = int(used[0].split()[5]) * resource.getpagesize() + int(max(size, _ASIDE))
            if not 0 <= soft <= most:  # no limit is -1
                ended.callback(resource.setrlimit, resource.RLIMIT_DATA, (soft, hard))
                resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
        yield


def available() -> float:
    """Bytes that a computation may take: ``GCNLIMIT_MEMORY`` in GB, else what the machine has left; or fewer, inside `at_most`.

    >>> available() > 0
    True
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if not setting or _most.get() < math.inf:
        return min(_most.get(), *_limits())
    try:
        bound = float(setting)
    except ValueError:
        bound = math.nan
    if not bound > 0.0:
        raise ParameterError(f"{VARIABLE} = {setting!r} must be a number of GB above 0, or unset")
    return bound * GB


def require(what: str, needed: float, remedy: str) -> None:
    """Raise `ParameterError` if `what` needs more bytes than are available.

    >>> require("this", 1e21, "take less")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: this needs about 1e+12 GB of memory, of ... GB available; take less, or ...
    """
    bound = available()
    if not needed <= bound:
        sizes = f"{needed / GB:.3g} GB of memory, of {bound / GB:.3g} GB available"
        more = "" if _most.get() < math.inf else f", or set {VARIABLE} to more GB"
        raise ParameterError(f"{what} needs about {sizes}; {remedy}{more}")


def _limits() -> Iterator[float]:
    """Bytes that are left by each count: of the kernel, of a container, and the size of the machine."""
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            yield float(line.split()[1]) * 1024.0
    limit, used = _lines("/sys/fs/cgroup/memory.max"), _lines("/sys/fs/cgroup/memory.current")
    if limit and used and limit[0].isdecimal():
        yield max(0.0, float(limit[0]) - float(used[0]))
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        yield float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
