"""The layout of a store, and what can still be read of a damaged one."""

from __future__ import annotations

import contextlib
import sqlite3
import tempfile
from pathlib import Path

__all__ = ["APPLICATION", "SCHEMA", "salvage"]

APPLICATION = 0x67636E6C
"""Mark of our files in the header of SQLite: the letters gcnl."""
SCHEMA = "CREATE TABLE IF NOT EXISTS blocks (id INTEGER PRIMARY KEY, key BLOB UNIQUE, payload BLOB, checksum BLOB)"

Row = tuple[bytes, bytes, bytes]

_PAGE = 4096
_SMALLEST = 100  # bytes: a row of the store is never smaller
_TABLE_PAGE = (0x05, 0x0D)  # how a page of a table begins


def salvage(path: Path) -> list[Row]:
    """Rows (key, payload, checksum) that can be read; if there are none, those found below a new first page."""
    return _rows(path) or _rows_below(path)


def _rows(path: Path) -> list[Row]:
    """Rows one by one: they are numbered from 1 without gaps, and damage hides some of them only."""
    rows = []
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA writable_schema = ON")  # also reads a file shorter than its header says
        with contextlib.suppress(sqlite3.DatabaseError):
            connection.execute("SELECT id FROM blocks LIMIT 0")
            for number in range(1, path.stat().st_size // _SMALLEST + 2):
                with contextlib.suppress(sqlite3.DatabaseError):
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
