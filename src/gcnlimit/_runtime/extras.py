"""Optional packages: asked for before anything is computed, and each missing one a sentence."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
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


def on_first_use(
    package: dict[str, Any], homes: dict[str, str]
) -> tuple[list[str], Callable[[str], object]]:
    """Return ``__all__`` and ``__getattr__`` of a package that imports its public names when they are first used.

    `package` is its ``globals()``; `homes` has the names, with spaces between, by the module or package that they come from.
    """
    home_of = {name: home for home, names in homes.items() for name in names.split()}

    def __getattr__(name: str) -> object:  # noqa: N807
        if name not in home_of:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        from gcnlimit._runtime.progress import progress_bar  # nothing that a plain import needs

        with progress_bar(f"loading {name}"):
            home = importlib.import_module(home_of[name])
            if name not in vars(home):  # a module of that package
                importlib.import_module(f"{home_of[name]}.{name}")
        package[name] = vars(home)[name]
        return package[name]

    return list(home_of), __getattr__
