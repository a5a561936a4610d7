"""The layout of a store, what counts as damage to it, and what can still be read of a damaged one."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

APPLICATION = 0x67636E6C
"""Mark of our files in the header of SQLite: the letters gcnl."""
LAYOUT = "CREATE TABLE blocks (id INTEGER PRIMARY KEY, key BLOB UNIQUE, payload BLOB, checksum BLOB)"
SCHEMA = LAYOUT.replace("TABLE", "TABLE IF NOT EXISTS")

Row = tuple[bytes, bytes, bytes]

_PAGE = 4096
_SMALLEST = 100  # bytes: a row of the store is never smaller
_TABLE_PAGE = (0x05, 0x0D)  # how a page of a table begins
_INNOCENT = (
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
)
"""Errors of locks, disk and permissions, which say nothing against the content of the file."""


class DamageError(sqlite3.DatabaseError):
    """What the check of the file found."""


def is_damage(error: sqlite3.Error, file: Path | None) -> bool:
    """Whether the content of the file is at fault, rather than a lock, the disk or the permissions."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT)
    if file is None or not file.is_file():
        return False
    if code & 0xFF == sqlite3.SQLITE_READONLY:  # also what a damaged header may say of a file that can be written
        return os.access(file, os.W_OK) and os.access(file.parent, os.W_OK)
    return code == sqlite3.SQLITE_IOERR_SHORT_READ or code & 0xFF not in _INNOCENT


@contextlib.contextmanager
def legible() -> Iterator[None]:
    """Take an error whose message quotes bytes that are not text for damage."""
    try:
        yield
    except UnicodeDecodeError:
        raise DamageError("its texts cannot be read") from None


def begins_well(path: Path) -> bool:
    """Whether the file begins as every SQLite file does."""
    with path.open("rb") as file:
        return file.read(16) == b"SQLite format 3\0"


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other process of this machine is in here for a store in the folder (where the system has such locks)."""
    try:
        import fcntl

        handle = os.open(folder, os.O_RDONLY)
    except (ModuleNotFoundError, OSError):
        yield
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_marked(header: bytes) -> bool:
    """Whether a file of that beginning is one of SQLite with our mark.

    >>> is_marked(b"SQLite format 3\\0" + bytes(52) + APPLICATION.to_bytes(4, "big")), is_marked(b"x,y")
    (True, False)
    """
    return header[:16] == b"SQLite format 3\0" and header[68:72] == APPLICATION.to_bytes(4, "big")


def free_name(path: Path, word: str) -> Path:
    """Name beside `path` that no file has."""
    names = (path.with_name(f"{path.name}.{word}-{n}") for n in range(1, 10_000))
    return next(name for name in names if not name.exists())


def swap(fresh: Path, path: Path) -> Path:
    """Give the damaged file at `path` and its journal a free name, put `fresh` in its place, and return the free name."""
    damaged = free_name(path, "damaged")
    for suffix in ("-journal", "-wal", "-shm", ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).rename(damaged.with_name(damaged.name + suffix))
    fresh.rename(path)
    return damaged


def salvage(path: Path) -> list[Row]:
    """Rows (key, payload, checksum) that can be read; if there are none, those found below a new first page."""
    return _rows(path) or _rows_below(path)


def _rows(path: Path) -> list[Row]:
    """Rows one by one: they are numbered from 1 without gaps, and damage hides some of them only."""
    rows: list[Row] = []
    if path.stat().st_size < _SMALLEST:
        return rows
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.text_factory = bytes
        connection.execute("PRAGMA writable_schema = ON")  # also reads a file shorter than its header says
        with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
            connection.execute("SELECT id FROM blocks LIMIT 0")
            for number in range(1, path.stat().st_size // _SMALLEST + 2):
                with contextlib.suppress(sqlite3.Error, UnicodeDecodeError):
                    query = "SELECT key, payload, checksum FROM blocks WHERE id = ?"
                    rows += connection.execute(query, (number,)).fetchall()
    return [row for row in rows if all(isinstance(cell, bytes) for cell in row)]


def _rows_below(path: Path) -> list[Row]:
    """Rows of a file whose first page, the same in every store but for the size of the file, is lost."""
    content = path.read_bytes()
    if len(content) <= _PAGE or content[_PAGE] not in _TABLE_PAGE:
        return []
    with tempfile.TemporaryDirectory() as folder:
        new = Path(folder, "new.sqlite")
        with contextlib.closing(sqlite3.connect(new)) as connection, connection:
            connection.execute(f"PRAGMA page_size = {_PAGE}")
            connection.execute(SCHEMA)
        head = bytearray(new.read_bytes()[:_PAGE])
        head[28:32] = (len(content) // _PAGE).to_bytes(4, "big")
        new.write_bytes(bytes(head) + content[_PAGE:])
        return _rows(new)
