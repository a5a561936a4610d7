"""Optional packages: asked for before anything is computed, and each missing one a sentence."""

from __future__ import annotations

import importlib.util
import pkgutil
from collections.abc import Callable, Mapping
from typing import Any

from gcnlimit.errors import GCNLimitError


def need(what: str, extra: str, *packages: str) -> None:
    """Raise `GCNLimitError` if a package that `what` needs is not installed.

    >>> need("a picture of it", "figures", "numpy", "no_such_package")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    gcnlimit.errors.GCNLimitError: a picture of it needs no_such_package; install it with ...
    """
    missing = [package for package in packages if importlib.util.find_spec(package) is None]
    if missing:
        way = f"pip install 'gcnlimit[{extra}]' (in a checkout: pip install '.[{extra}]')"
        raise GCNLimitError(f"{what} needs {' and '.join(missing)}; install it with {way}")


def load(what: str, extra: str, module: str) -> Any:
    """Return a module of an optional package that `what` needs."""
    need(what, extra, module.split(".", maxsplit=1)[0])
    return importlib.import_module(module)


def on_first_use(package: dict[str, Any], homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of a package that imports its public names when they are first used.

    `package` is its ``globals()``; `homes` gives for each name its module in gcnlimit, or ``"module:name"``.
    """

    def __getattr__(name: str) -> object:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        package[name] = pkgutil.resolve_name(f"gcnlimit.{homes[name]}")
        return package[name]

    return __getattr__
