"""The key of a block in the store, and the seed of a point: hashes of the inputs."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from gcnlimit._version import NUMERICAL_VERSION
from gcnlimit.errors import ParameterError


def block_key(identity: str, common: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Hash of the producer, the numerical version of the library and the inputs of each point of the block.

    >>> block_key("predict", {"t": 1.0}, {}) == block_key("predict", {"t": 1.0}, {})
    True
    >>> block_key("predict", {"t": 1.0}, {}) == block_key("predict", {"t": 1.1}, {})
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    digest.update(_canonical([identity, NUMERICAL_VERSION, common, sorted(arrays)]))
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name], "<f8").tobytes())
    return digest.digest()


def point_seed(identity: str, common: Mapping[str, Any]) -> int:
    """Seed of a point that was given none: 63 bits of the hash of its inputs, the same in every version of the library."""
    digest = hashlib.blake2b(_canonical([identity, common]), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def describe(function: Callable[..., Any]) -> str:
    """Text that changes when the code of a function does: its name, source and captured values."""
    if isinstance(function, functools.partial):
        return json.dumps([describe(function.func), plain(function.args), plain(function.keywords)])
    if not inspect.isfunction(function):
        raise ParameterError(f"cannot sweep {function!r}: its code cannot be recognised; wrap it in a function")
    try:
        source = inspect.getsource(function)
    except OSError:
        source = function.__code__.co_code.hex() + repr(function.__code__.co_consts)
    captured = [plain(cell.cell_contents) for cell in function.__closure__ or ()]
    return json.dumps([f"{function.__module__}.{function.__qualname__}", source, captured])


def _canonical(value: Any) -> bytes:
    return json.dumps(plain(value), sort_keys=True).encode()


def plain(value: Any) -> Any:
    """Value as JSON can hold it, without loss: the same text for the same inputs."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.longdouble | np.clongdouble):
        raise ParameterError(f"cannot recognise {value!r} in a store; use numbers of double precision")
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {"": type(value).__qualname__} | {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if inspect.isfunction(value):
        return describe(value)
    raise ParameterError(f"cannot recognise {value!r} in a store; use numbers, strings, lists, or frozen dataclasses")
