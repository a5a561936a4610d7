"""Packages that only the ways out need."""

from __future__ import annotations

import importlib
from typing import Any

from gcnlimit.errors import GCNLimitError

__all__ = ["need"]


def need(package: str, what: str, extra: str) -> Any:
    """Import an optional package, or say in one sentence where it comes from.

    >>> need("nosuch.module", "to_nosuch", "sweep")
    Traceback (most recent call last):
    gcnlimit.errors.GCNLimitError: to_nosuch needs nosuch, which the extra 'sweep' installs; or write: pip install nosuch
    """
    try:
        return importlib.import_module(package)
    except ModuleNotFoundError:
        name = package.partition(".")[0]
        raise GCNLimitError(
            f"{what} needs {name}, which the extra {extra!r} installs; or write: pip install {name}"
        ) from None
