"""Optional packages: asked for before anything is computed, and each missing one a sentence."""

from __future__ import annotations

import builtins
import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
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


@contextmanager
def on_first_use(package: dict[str, Any]) -> Iterator[None]:
    """Import the names that the block imports when they are first used, and make them the public names of a package.

    `package` is its ``globals()``, which get ``__all__``, ``__dir__`` and ``__getattr__``.
    Type checkers, editors and programs that freeze a package read the block as plain imports.
    """
    homes: dict[str, str] = {}
    import_now = builtins.__import__

    # in the place of __import__; what other modules import meanwhile goes its usual way
    def note(
        name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> Any:
        if globals is not package:
            return import_now(name, globals, locals, fromlist, level)
        homes.update(dict.fromkeys(fromlist, name))
        return SimpleNamespace(**dict.fromkeys(fromlist))

    def first_use(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        home = vars(importlib.import_module(homes[name]))
        package[name] = home.get(name) or importlib.import_module(f"{homes[name]}.{name}")
        return package[name]

    builtins.__import__ = note
    try:
        yield
    finally:
        builtins.__import__ = import_now
    for name in homes:
        del package[name]
    package |= {"__all__": list(homes), "__dir__": lambda: sorted(homes), "__getattr__": first_use}
