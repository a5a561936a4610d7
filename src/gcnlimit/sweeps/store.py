"""The store: finished blocks in one SQLite file, each written durably and checked when it is read; and their keys."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
import os
import sqlite3
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from sqlite3 import SQLITE_CORRUPT, SQLITE_ERROR, SQLITE_FORMAT, SQLITE_NOTADB
from typing import Any, Self

import numpy as np

from gcnlimit._values import Value, shown
from gcnlimit._version import NUMERICAL_VERSION, __version__
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.graphs.dataset import check_path
from gcnlimit.sweeps.grid import Columns

_MARK = 0x67636E6C  # of our files, in the header of SQLite: the letters gcnl
_TABLE = "blocks (id INTEGER PRIMARY KEY, key BLOB UNIQUE, payload BLOB, checksum BLOB)"
_READ = "SELECT payload, checksum FROM blocks WHERE key = ?"
_WRITE = "INSERT OR REPLACE INTO blocks (key, payload, checksum) VALUES (?, ?, ?)"
_PATIENCE = 60.0  # seconds to wait for another process that writes
_DAMAGE = (SQLITE_CORRUPT, SQLITE_ERROR, SQLITE_FORMAT, SQLITE_NOTADB)
"""Errors that speak against the content of the file, not of locks, disk or permissions."""


class StoreError(GCNLimitError):
    """The store cannot be used; the message names the file and the remedy."""


class Store:
    """Finished blocks of any number of sweeps, by key; without a path, in memory.

    A write is on disk when `put` returns. Several processes on one machine may share a store. A block whose checksum does
    not match counts as missing; a damaged file is set aside, and all its blocks count as missing. Both give a warning.

    >>> with Store() as store:
    ...     store.put(b"key", Columns({"x": np.array([1.0, 2.0])}, {}))
    ...     store.get(b"key").fields["x"], store.get(b"other")
    (array([1., 2.]), None)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        if path is not None:
            check_path(path, "store")
            if os.path.isdir(path or "."):
                raise ParameterError(f"store = {shown(path)} is a folder; give the name of a file")
        self.path = None if path is None else Path(path)
        try:
            if self.path is not None and self.path.exists() and self.path.stat().st_size:
                _check_mark(self.path)
            self._connection = _connect(self.path)
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            self._check_damaged(error)
            self._connection = self._fresh(error)

    def get(self, key: bytes) -> Columns | None:
        """Block of that key, or ``None`` if it is missing or damaged."""
        row = self._execute(_READ, key)
        if row is None:
            return None
        if isinstance(row[0], bytes) and row[1] == _checksum(key, row[0]):
            return decode(row[0])
        self._warn("a block does not match its checksum, and is computed again")
        return None

    def put(self, key: bytes, columns: Columns) -> None:
        """Write a block durably."""
        payload = encode(columns)
        self._execute(_WRITE, key, payload, _checksum(key, payload))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        """Close the file, and remove its journal."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def _execute(self, statement: str, *values: bytes) -> Any:
        """First row that a statement gives; if the file turns out to be damaged, once more with a new one."""
        try:
            return self._connection.execute(statement, values).fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self._check_damaged(error)
            self._connection.close()
            self._connection = self._fresh(error)
            return self._connection.execute(statement, values).fetchone()

    def _check_damaged(self, error: Exception) -> None:
        """Raise `StoreError` unless the content of the file is at fault."""
        # an error that quotes the content may not be text, and has no code then
        file = os.path.isfile(self.path or "") and not isinstance(error, OSError)
        if file and getattr(error, "sqlite_errorcode", SQLITE_CORRUPT) & 0xFF in _DAMAGE:
            return
        raise StoreError(
            f"cannot use the store {self.path}: {error}; check that its folder exists and is "
            "writable, that the disk has space and that nobody locks the file; every block "
            "written is safe, and the same sweep resumes"
        ) from error

    def _fresh(self, error: Exception) -> sqlite3.Connection:
        """Give the damaged file a free name, and begin a new one: its blocks are computed again."""
        path = self.path or Path()
        _check_mark(path)
        names = (path.with_name(f"{path.name}.damaged-{n}") for n in range(1, 10_000))
        aside = next(name for name in names if not name.exists())
        for ending in ("-journal", ""):  # the journal first: it must not be applied to the new file
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
        self._warn(f"the file is damaged ({error}), kept as {aside}, and all is computed again")
        return _connect(path)

    def _warn(self, message: str) -> None:
        warnings.warn(f"store {self.path}: {' '.join(message.split())}", stacklevel=2)


def _check_mark(path: Path) -> None:
    """Refuse a file without our mark: it is left as it is."""
    with path.open("rb") as file:
        header = file.read(72)
    if header[:16] != b"SQLite format 3\0" or header[68:] != _MARK.to_bytes(4, "big"):
        raise StoreError(f"{path} is not a store of sweeps, or is damaged; choose another file")


def _connect(path: Path | None) -> sqlite3.Connection:
    """Open a file and check it, or begin a new one; several processes may do so at once."""
    connection = sqlite3.connect(path or ":memory:", timeout=_PATIENCE, isolation_level=None)
    connection.text_factory = bytes  # a damaged cell may claim to be text
    try:
        ((problem,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if problem not in (b"ok", "ok"):
            raise sqlite3.DatabaseError(problem.decode(errors="replace"))
        # a block is on disk when its statement ends
        connection.execute("PRAGMA journal_mode = PERSIST")
        connection.execute("PRAGMA synchronous = FULL")
        made = f"CREATE TABLE IF NOT EXISTS {_TABLE}"
        if connection.execute("PRAGMA application_id").fetchone() != (_MARK,):
            connection.executescript(f"BEGIN; PRAGMA application_id = {_MARK}; {made}; COMMIT")
        connection.execute(made)
    except BaseException:
        connection.close()
        if path is not None and path.exists() and not path.stat().st_size:  # nothing was in it
            for ending in ("-journal", ""):
                path.with_name(path.name + ending).unlink(missing_ok=True)
        raise
    return connection


def _checksum(key: bytes, payload: bytes) -> bytes:
    return hashlib.blake2b(key + payload, digest_size=16).digest()


def encode(columns: Columns) -> bytes:
    """Columns as bytes: a line of JSON that names them, then the arrays, little-endian.

    >>> columns = Columns({"x": np.array([1.0, np.nan])}, {1: "too large"})
    >>> decode(encode(columns)).errors
    {1: 'too large'}
    """
    arrays = {name: v.astype(v.dtype.newbyteorder("<")) for name, v in columns.fields.items()}
    header = {
        "fields": {name: values.dtype.str for name, values in arrays.items()},
        "size": next(iter(arrays.values())).size,
        "version": __version__,
        "errors": {str(place): reason for place, reason in columns.errors.items()},
    }
    body = b"".join(values.tobytes() for values in arrays.values())
    return json.dumps(header).encode() + b"\n" + body


def decode(payload: bytes) -> Columns:
    """Columns of the bytes; the failures of another version of the library are not final."""
    line, _, body = payload.partition(b"\n")
    header = json.loads(line)
    fields = {}
    for name, dtype in header["fields"].items():
        fields[name] = np.frombuffer(body, dtype, header["size"])
        body = body[fields[name].nbytes :]
    errors = {int(place): reason for place, reason in header["errors"].items()}
    return Columns(fields, errors, final=not errors or header["version"] == __version__)


def block_key(identity: str, common: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """Hash of the producer, the numerical version of the library and the inputs of each point of the block.

    >>> block_key("predict", {"t": 1.0}, {}) == block_key("predict", {"t": 1.0}, {})
    True
    >>> block_key("predict", {"t": 1.0}, {}) == block_key("predict", {"t": 1.1}, {})
    False
    """
    # a block is its inputs: another grid with the same points in a row finds it again
    digest = hashlib.blake2b(digest_size=16)
    digest.update(_canonical([identity, NUMERICAL_VERSION, common, sorted(arrays)]))
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name], "<f8").tobytes())
    return digest.digest()


def point_seed(identity: str, common: Mapping[str, Any]) -> int:
    """Seed of a point that was given none: 63 bits of the hash of its inputs, the same in every version."""
    digest = hashlib.blake2b(_canonical([identity, common]), digest_size=8).digest()
    return int.from_bytes(digest) >> 1


def describe(function: Callable[..., Any]) -> str:
    """Text that changes when the code of a function does: its name, source, defaults, captured values and globals."""
    if isinstance(function, functools.partial):
        return json.dumps([describe(function.func), plain(function.args), plain(function.keywords)])
    if isinstance(function, np.ufunc):
        return str(function)
    if not inspect.isfunction(function):
        told = f"cannot sweep {shown(function)}, of hidden code"
        raise ParameterError(f"{told}; wrap it in a function")
    try:
        source = inspect.getsource(function)
    except OSError:
        source = function.__code__.co_code.hex() + repr(function.__code__.co_consts)
    code = function.__code__
    captured = [plain(cell.cell_contents) for cell in function.__closure__ or ()]
    said = [f"{function.__module__}.{function.__qualname__}", source, captured]
    if code.co_name == "<lambda>":  # there may be several in a line
        said.append([column for _, _, column, _ in code.co_positions()])
    used = [function.__globals__.get(name) for name in code.co_names]
    said += [_known(value) for value in used if isinstance(value, _DATA)]
    return json.dumps(said + plain([function.__defaults__, function.__kwdefaults__]))


_DATA = (str, int, float, tuple, np.generic, np.ndarray, Value)
"""What tells apart two functions that use it under one global name; a list or dictionary may be where a function keeps notes."""


def _known(value: Any) -> Any:
    """A global value as text; nothing of what has no text."""
    with contextlib.suppress(ParameterError):
        return plain(value)
    return None


def _canonical(value: Any) -> bytes:
    return json.dumps(plain(value), sort_keys=True).encode()


def plain(value: Any) -> Any:
    """Value as JSON can hold it, without loss: the same text for the same inputs."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, np.longdouble | np.clongdouble):
        raise ParameterError(f"cannot store a result for {shown(value)}; use double precision")
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: plain(getattr(value, field.name)) for field in fields(value)}
        return {"": type(value).__qualname__} | named
    if inspect.isfunction(value) or isinstance(value, np.ufunc):
        return describe(value)
    usable = "numbers, strings, lists or frozen dataclasses"
    raise ParameterError(f"cannot store a result for {shown(value)}; use {usable}")
