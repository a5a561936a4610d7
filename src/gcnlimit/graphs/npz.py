"""Arrays in one ``.npz`` file: read without executing anything, each fault of the file a sentence."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from gcnlimit.errors import ParameterError, writing

Location = str | os.PathLike[str]
Stored = dict[str, npt.NDArray[Any]]


def read_arrays(path: Location, kind: str) -> Stored:
    """Arrays of an ``.npz`` file by name; it may hold anything, and nothing in it is executed."""
    check_path(path)
    try:
        with open(path, "rb") as opened:
            file = np.load(opened, allow_pickle=False)
            if not isinstance(file, np.lib.npyio.NpzFile):
                raise ValueError(f"it holds one array instead of the fields of {kind}")
            stored = {name: file[name] for name in file.files}
    except Exception as error:  # a damaged file makes NumPy and zipfile raise errors of fifteen types
        raise unreadable(path, kind, error) from None
    for name, array in stored.items():
        if array.dtype.itemsize == 0:  # whose shape costs nothing, and whose copies cost all memory
            raise unreadable(path, kind, f"the entries of the field {name!r} have no size")
    return stored


def write_arrays(path: Location, fields: Mapping[str, Any], compress: bool) -> None:
    """Write arrays by name to one ``.npz`` file."""
    check_path(path)
    with writing(path), open(path, "wb") as file:
        (np.savez_compressed if compress else np.savez)(file, **fields)


@contextlib.contextmanager
def assembling(path: Location, kind: str) -> Iterator[None]:
    """Context in which a field that is missing or refused is said of the file."""
    try:
        yield
    except KeyError as missing:
        raise unreadable(path, kind, f"the field {missing} is missing") from None
    except ParameterError as error:
        raise unreadable(path, kind, error) from None


def field(stored: Stored, name: str, *shape: int | None) -> npt.NDArray[Any]:
    """Field of a given shape, in which None stands for any length."""
    found = stored[name].shape
    if len(found) != len(shape) or any(want not in (None, n) for want, n in zip(shape, found, strict=True)):
        wanted = ", ".join("any" if want is None else str(want) for want in shape)
        raise ParameterError(f"{name} has shape {found}; it must be {f'({wanted})' if shape else 'a single value'}")
    return stored[name]


def graph_fields(adjacency: Any) -> Stored:
    """Fields of an adjacency matrix; weights where they are not all 1."""
    fields = {"indptr": adjacency.indptr, "indices": adjacency.indices}
    return fields if np.all(adjacency.data == 1.0) else fields | {"weights": adjacency.data}


def stored_csr(stored: Stored, data: str, shape: tuple[int, int], prefix: str = "") -> Any:
    """CSR matrix of stored arrays, which may be anything; its indices are yet to be checked."""
    indptr, indices = stored[f"{prefix}indptr"], stored[f"{prefix}indices"]
    entries = stored.get(data, np.ones(indices.shape))
    if indptr.dtype.kind not in "iu" or indices.dtype.kind not in "iu" or entries.dtype.kind not in "biuf":
        raise ParameterError(
            f"{prefix}indptr, {prefix}indices and {data} have dtypes {indptr.dtype}, {indices.dtype} and {entries.dtype}; "
            "they must be whole, whole and real numbers"
        )
    try:
        return scipy.sparse.csr_array((entries, indices.astype(np.int64), indptr.astype(np.int64)), shape=shape)
    except ValueError as error:
        raise ParameterError(f"{prefix}indptr and {prefix}indices are no sparse matrix: {error}") from None


def unreadable(path: Location, kind: str, reason: object) -> ParameterError:
    """Error for a file that is not what it should be; NumPy's advice to execute what it holds is not passed on."""
    unsafe = "pickle" in str(reason)
    why = "it is not an .npz file of plain arrays" if unsafe else reason
    return ParameterError(f"path = {os.fspath(path)!r} cannot be read as {kind}: {why}")


def check_path(path: object, name: str = "path") -> None:
    """Raise `ParameterError` unless `path` may name a file."""
    if not isinstance(path, str | os.PathLike) or "\0" in os.fspath(path):
        raise ParameterError(f"{name} = {path!r} is not allowed; it must name a file")
