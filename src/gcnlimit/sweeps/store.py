"""The store: finished blocks in one SQLite file, each written durably and checked when it is read."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import warnings
from pathlib import Path
from types import TracebackType
from typing import Self

from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.sweeps.compute import Columns
from gcnlimit.sweeps.encoding import decode, encode
from gcnlimit.sweeps.salvage import (
    APPLICATION,
    LAYOUT,
    SCHEMA,
    DamageError,
    alone_in,
    begins_well,
    free_name,
    is_damage,
    is_marked,
    legible,
    salvage,
    swap,
)

_WRITE = (
    "INSERT INTO blocks (key, payload, checksum) VALUES (?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET payload = excluded.payload, checksum = excluded.checksum"
)
_Place = tuple[int, int, bool]
_PATIENCE = 60.0  # seconds to wait for another process that writes


class StoreError(GCNLimitError):
    """The store cannot be used; the message names the file and the remedy."""


class Store:
    """Finished blocks of any number of sweeps, by key; without a path, in memory.

    A write is on disk when `put` returns. Several processes on one machine may share a store. A block whose checksum
    does not match is reported and counts as missing; a damaged file is set aside, and what can be read of it is kept.

    Examples
    --------
    >>> import numpy as np
    >>> with Store() as store:
    ...     store.put(b"key", Columns({"x": np.array([1.0, 2.0])}, {}))
    ...     store.get(b"key").fields["x"], store.get(b"other")
    (array([1., 2.]), None)
    """

    def __init__(self, path: str | os.PathLike[str] | None = None) -> None:
        self.path = None if path is None else _as_path(path)
        self._file = None if self.path is None else self.path.resolve()
        self._place: _Place | None = None
        self._indexed = False
        self._connection = self._open()
        self._place = self._look()

    def get(self, key: bytes) -> Columns | None:
        """Block of that key, or ``None`` if it is missing or damaged."""
        try:
            with self._turn(), legible():
                row = self._connection.execute("SELECT payload, checksum FROM blocks WHERE key = ?", (key,)).fetchone()
        except sqlite3.Error as error:
            self._reopen(error)
            return self.get(key)
        if row is None:
            return None
        if isinstance(row[0], bytes) and row[1] == _checksum(key, row[0]):
            return decode(row[0])
        if not self._indexed:  # perhaps only the index is wrong, and names the row of another key
            self._index()
            return self.get(key)
        self._warn("a block of it does not match its checksum, and is computed again")
        return None

    def put(self, key: bytes, columns: Columns) -> None:
        """Write a block durably."""
        if self._look() != self._place:
            self._move()
        payload = encode(columns)
        row = (key, payload, _checksum(key, payload))
        try:
            self._write(row)
        except sqlite3.Error as error:
            if not is_damage(error, self._file):
                raise self._unwritten(error) from error
            self._reopen(error)
            self._write(row)

    def __len__(self) -> int:
        """Number of blocks."""
        return int(self._connection.execute("SELECT count(*) FROM blocks").fetchone()[0])

    def close(self) -> None:
        """Close the file, and remove its journal."""
        _close(self._connection)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _write(self, row: tuple[bytes, bytes, bytes]) -> None:
        with self._turn(), legible(), self._connection:
            self._connection.execute(_WRITE, row)

    def _turn(self) -> contextlib.AbstractContextManager[None]:
        """Queue behind other processes that use the store; SQLite alone would ask again and again, and may ask in vain."""
        return contextlib.nullcontext() if self._file is None else alone_in(self._file.parent)

    def _index(self) -> None:
        """Make the index anew, once; if that fails, the whole file."""
        self._indexed = True
        try:
            with legible(), self._connection:
                self._connection.execute("REINDEX blocks")
        except sqlite3.Error as error:
            self._reopen(error)

    def _look(self) -> _Place | None:
        """What distinguishes the file from another of the same name, and a store from another file."""
        if self._file is None:
            return None
        try:
            with self._file.open("rb") as file:
                status = os.fstat(file.fileno())
                return status.st_dev, status.st_ino, is_marked(file.read(100))
        except OSError:
            return None

    def _move(self) -> None:
        """Go on in a new file, with the blocks of the one that is gone; stop if a foreign file has taken its place."""
        gone = self._connection
        try:
            self._connection = self._open()
        except StoreError:
            if self._file is None or not self._file.exists():
                raise
            raise self._replaced(self._file) from None
        self._place = self._look()
        _copy(gone, self._connection)
        _close(gone)
        self._warn(
            "the file was moved, removed or emptied while it was in use; blocks are kept in a new one from here on"
        )

    def _replaced(self, file: Path) -> StoreError:
        """Keep what can still be read in a file beside, and say where it is."""
        aside = free_name(file, "kept")
        kept = self._connect(aside)
        number = _copy(self._connection, kept)
        _close(kept)
        self._connection.close()  # and nothing else is asked of it, for it may have the foreign file open
        file.with_name(f"{file.name}-journal").unlink(missing_ok=True)
        if number:
            told = f"its {number} blocks are kept in {aside}: give that as the store and run the same sweep again to resume"
        else:
            aside.unlink()
            told = "its blocks are lost: choose another store and run the same sweep again"
        return StoreError(
            f"another file took the place of the store {self.path} while it was in use, and is left as it is; {told}"
        )

    def _reopen(self, error: sqlite3.Error) -> None:
        self.close()
        self._connection = self._recovered(error)
        self._place = self._look()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.Error as error:
            return self._recovered(error)

    def _connect(self, file: Path | None = None) -> sqlite3.Connection:
        file = file or self._file
        if file is not None and file.exists() and 0 < file.stat().st_size < 100:
            raise DamageError("it is shorter than the header of a store")
        connection = sqlite3.connect(file or ":memory:", timeout=_PATIENCE)
        connection.text_factory = bytes  # a damaged cell may claim to be text
        try:
            with legible():
                self._check(connection, file)
                _prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _check(self, connection: sqlite3.Connection, file: Path | None) -> None:
        """Refuse a damaged file, and the file of another program."""
        if file is None or not file.stat().st_size:
            return
        ((problem,),) = connection.execute("PRAGMA quick_check(1)").fetchall()
        if problem not in (b"ok", "ok"):
            raise DamageError(problem.decode(errors="replace"))
        ((owner,),) = connection.execute("PRAGMA application_id").fetchall()
        tables = connection.execute("SELECT sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        if not tables or (owner == APPLICATION and tables == [(LAYOUT.encode(),)]):
            return
        if owner != APPLICATION and tables != [(LAYOUT.encode(),)]:
            raise StoreError(f"{self.path} is a database of another program; choose another file for the store")
        raise DamageError("its header or the description of its table has changed")

    def _recovered(self, error: sqlite3.Error) -> sqlite3.Connection:
        """If the file is damaged, set it aside and put a new one in its place, with the blocks that can still be read."""
        place = self._place
        if self._file is None or not is_damage(error, self._file):
            raise self._closed(error) from None
        with alone_in(self._file.parent):
            if place is not None and place == self._look():  # it passed the check, and is damaged nevertheless
                return self._rebuilt(error)
            try:
                return self._connect()  # another process has repaired it meanwhile
            except sqlite3.Error as still:
                if not is_damage(still, self._file):
                    raise self._closed(still) from None
                return self._rebuilt(still)

    def _rebuilt(self, error: sqlite3.Error) -> sqlite3.Connection:
        file, reason = self._file or Path(), " ".join(str(error).split())
        rows = [row for row in salvage(file) if row[2] == _checksum(row[0], row[1])]
        if not rows and not begins_well(file):
            raise StoreError(
                f"{self.path} is not a store of sweeps, or nothing of it can be read ({reason}); "
                "move it away or choose another file, and every point is computed again"
            ) from None
        fresh = file.with_name(f"{file.name}.new")
        fresh.unlink(missing_ok=True)
        connection = self._connect(fresh)
        with connection:
            connection.executemany(_WRITE, rows)
        _close(connection)
        damaged = swap(fresh, file)
        self._warn(
            f"the file is damaged ({reason}); {len(rows)} blocks were saved, the rest is computed again, "
            f"and the damaged file is kept as {damaged}"
        )
        return self._connect()

    def _warn(self, message: str) -> None:
        warnings.warn(f"store {self.path}: {message}", stacklevel=2)

    def _closed(self, error: sqlite3.Error) -> StoreError:
        return StoreError(
            f"cannot open the store {self.path}: {error}; "
            "check that its folder exists and is writable, that the disk has space and nobody else locks the file"
        )

    def _unwritten(self, error: sqlite3.Error) -> StoreError:
        remedy = "free some space" if "full" in str(error) or "I/O" in str(error) else "try again"
        return StoreError(
            f"cannot write to the store {self.path}: {error}; every block written so far is safe, "
            f"{remedy} and run the same sweep again to resume"
        )


def _as_path(path: object) -> Path:
    if not isinstance(path, str | os.PathLike) or "\0" in str(path):
        raise ParameterError(f"store = {path!r} is not allowed; it must be the name of a file")
    if str(path) == ":memory:":
        raise ParameterError("store = ':memory:' is not allowed; leave store out to keep nothing on disk")
    if Path(path).is_dir():
        raise ParameterError(f"store = {str(path)!r} is a folder; give the name of a file in it")
    return Path(path)


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the table if the file is new; several processes may do so at once.

    A block is written to the file itself, never to a log that would later be copied into whatever file has the name then.
    """
    connection.execute("PRAGMA journal_mode = PERSIST")
    connection.execute("PRAGMA synchronous = FULL")
    ((owner,),) = connection.execute("PRAGMA application_id").fetchall()
    if owner != APPLICATION:
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
    with connection:
        connection.execute(SCHEMA)


def _close(connection: sqlite3.Connection) -> None:
    with contextlib.suppress(sqlite3.Error):
        connection.execute("PRAGMA journal_mode = DELETE")
    with contextlib.suppress(sqlite3.Error):
        connection.close()


def _copy(source: sqlite3.Connection, target: sqlite3.Connection) -> int:
    """Copy the blocks that can be read, and return their number; those that do not match are found when they are read."""
    with contextlib.suppress(sqlite3.Error, DamageError), legible(), target:
        rows = source.execute("SELECT key, payload, checksum FROM blocks")
        return target.executemany(_WRITE, rows).rowcount
    return 0


def _checksum(key: bytes, payload: bytes) -> bytes:
    return hashlib.blake2b(key + payload, digest_size=16).digest()
