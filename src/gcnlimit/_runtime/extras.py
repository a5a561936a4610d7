"""Optional packages: asked for before anything is computed, and each missing one a sentence."""

from __future__ import annotations

import importlib.util
import pkgutil
import re
from collections.abc import Callable
from typing import Any

from gcnlimit.errors import GCNLimitError

_IMPORT = re.compile(r"from (\S+) import \(?\s*(\w+) as")


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


def on_first_use(package: dict[str, Any]) -> tuple[list[str], Callable[[str], object]]:
    """Return ``__all__`` and ``__getattr__`` of a package that imports its public names when they are first used.

    `package` is its ``globals()``. Names and modules stand in its stub ``__init__.pyi``, which editors and type checkers read, in
    lines such as ``from gcnlimit.csbm import CSBM as CSBM``.
    """
    stub = pkgutil.get_data(package["__name__"], "__init__.pyi") or b""
    homes = {name: home for home, name in _IMPORT.findall(stub.decode())}

    def __getattr__(name: str) -> object:  # noqa: N807
        if name not in homes:
            raise AttributeError(f"module {package['__name__']!r} has no attribute {name!r}")
        home = importlib.import_module(homes[name])
        if name in vars(home):
            package[name] = vars(home)[name]
        else:  # a module of that package
            package[name] = importlib.import_module(f"{homes[name]}.{name}")
        return package[name]

    return list(homes), __getattr__
