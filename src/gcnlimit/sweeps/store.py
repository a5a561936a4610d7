"""The store: finished blocks in one SQLite file, each written durably and checked when it is read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from gcnlimit.errors import GCNLimitError
from gcnlimit.sweeps.compute import Columns
from gcnlimit.sweeps.encoding import decode, encode
from gcnlimit.sweeps.salvage import APPLICATION, SCHEMA, salvage

__all__ = ["Store", "StoreError"]

_WRITE = (
    "INSERT INTO blocks (key, payload, checksum) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET payload = excluded.payload, checksum = excluded.checksum"
)
_PATIENCE = 60.0  # seconds to wait for another process that writes


class StoreError(GCNLimitError):
    """The store cannot be used; the message names the file and the remedy."""


class Store:
    """Finished blocks of any number of sweeps, by key; without a path, in memory.

    A write is on disk when `put` returns. Several processes on one machine may share a store. A block whose checksum
    does not match is reported and counts as missing; a damaged file is set aside, what can be read of it is kept.

    Examples
    --------
    >>> import numpy as np
    >>> with Store() as store:
    ...     store.put(b"key", Columns({"x": np.array([1.0, 2.0])}, {}))
    ...     store.get(b"key").fields["x"], store.get(b"other")
    (array([1., 2.]), None)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else Path(path)
        self._connection = self._open()

    def get(self, key: bytes) -> Columns | None:
        """Block of that key, or ``None`` if it is missing or damaged."""
        try:
            row = self._connection.execute("SELECT payload, checksum FROM blocks WHERE key = ?", (key,)).fetchone()
        except sqlite3.DatabaseError as error:
            self._connection.close()
            self._connection = self._recovered(error)
            return self.get(key)
        if row is None:
            return None
        if row[1] != _checksum(key, row[0]):
            self._warn("a block of it does not match its checksum, and is computed again")
            return None
        return decode(row[0])

    def put(self, key: bytes, columns: Columns) -> None:
        """Write a block durably."""
        payload = encode(columns)
        with self._explained(), self._connection:
            self._connection.execute(_WRITE, (key, payload, _checksum(key, payload)))

    def __len__(self) -> int:
        """Number of blocks."""
        return int(self._connection.execute("SELECT count(*) FROM blocks").fetchone()[0])

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            return self._recovered(error)

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path or ":memory:", timeout=_PATIENCE)
        try:
            self._check(connection)
            _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection) -> None:
        """Refuse a damaged file, and the file of another program."""
        if self.path is None or not self.path.stat().st_size:
            return
        ((problem,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if problem != "ok":
            raise _DamageError(problem)
        ((owner,),) = connection.execute("PRAGMA application_id").fetchall()
        ((tables,),) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
        if tables and owner != APPLICATION:
            raise StoreError(f"{self.path} is a database of another program; choose another file for the store")

    def _recovered(self, error: sqlite3.DatabaseError) -> sqlite3.Connection:
        """If the file is damaged, set it aside and start a new one with the blocks that can still be read."""
        if self.path is None or not _is_damage(error):
            raise StoreError(
                f"cannot open the store {self.path}: {error}; "
                "check that its folder exists and is writable, that the disk has space and nobody else locks the file"
            ) from None
        rows = [row for row in salvage(self.path) if row[2] == _checksum(row[0], row[1])]
        if not rows and not _begins_well(self.path):
            raise StoreError(
                f"{self.path} is not a store of sweeps, or nothing of it can be read ({error}); "
                "move it away or choose another file, and every point is computed again"
            ) from None
        damaged = _aside(self.path)
        connection = self._connect()
        with connection:
            connection.executemany(_WRITE, rows)
        self._warn(
            f"the file is damaged ({error}); {len(rows)} blocks were saved, the rest is computed again, "
            f"and the damaged file is kept as {damaged}"
        )
        return connection

    def _warn(self, message: str) -> None:
        warnings.warn(f"store {self.path}: {message}", stacklevel=2)

    @contextlib.contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            remedy = "free some space" if "full" in str(error) or "I/O" in str(error) else "try again"
            raise StoreError(
                f"cannot write to the store {self.path}: {error}; every block written so far is safe, "
                f"{remedy} and run the same sweep again to resume"
            ) from error


class _DamageError(sqlite3.DatabaseError):
    """What the check of the file found."""


def _is_damage(error: sqlite3.DatabaseError) -> bool:
    """Whether the content of the file is at fault, rather than a lock, the disk or the permissions."""
    code = getattr(error, "sqlite_errorcode", 0)
    damage = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
    return isinstance(error, _DamageError) or code & 0xFF in damage or code == sqlite3.SQLITE_IOERR_SHORT_READ


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the table if the file is new; several processes may do so at once."""
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError as error:  # changing the mode does not wait for a lock
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.02)
    connection.execute("PRAGMA synchronous = FULL")
    ((owner,),) = connection.execute("PRAGMA application_id").fetchall()
    if owner != APPLICATION:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    with connection:
        connection.execute(SCHEMA)


def _checksum(key: bytes, payload: bytes) -> bytes:
    return hashlib.blake2b(key + payload, digest_size=16).digest()


def _begins_well(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


def _aside(path: Path) -> Path:
    """Rename a file and its journal to a free name, and return that name."""
    number = next(n for n in range(1, 10_000) if not path.with_name(f"{path.name}.damaged-{n}").exists())
    damaged = path.with_name(f"{path.name}.damaged-{number}")
    for suffix in ("-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(damaged.with_name(damaged.name + suffix))
    return damaged
