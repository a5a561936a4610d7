"""What can still be read of a damaged store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

__all__ = ["APPLICATION", "salvage"]

APPLICATION = 0x67636E6C
"""Mark of our files in the header of SQLite: the letters gcnl."""

_SMALLEST = 100  # bytes: a row of the store is never smaller


def salvage(path: Path) -> Iterator[tuple[bytes, bytes, bytes]]:
    """Rows that can be read, one by one: they are numbered from 1 without gaps, and damage hides some of them only."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA writable_schema = ON")  # also reads a file shorter than its header says
        for number in range(1, path.stat().st_size // _SMALLEST + 2):
            try:
                row = connection.execute("SELECT key, payload, checksum FROM blocks WHERE id = ?", (number,)).fetchone()
            except sqlite3.DatabaseError:
                continue
            if row is not None and all(isinstance(cell, bytes) for cell in row):
                yield row
    finally:
        connection.close()
