"""Columns as bytes: a line of JSON that names them, then the arrays, little-endian."""

from __future__ import annotations

import json

import numpy as np

from gcnlimit._version import __version__
from gcnlimit.sweeps.compute import Columns


def encode(columns: Columns) -> bytes:
    """Bytes of the columns.

    >>> columns = Columns({"x": np.array([1.0, np.nan])}, {1: "too large"})
    >>> decode(encode(columns)).errors
    {1: 'too large'}
    """
    arrays = {name: values.astype(values.dtype.newbyteorder("<")) for name, values in columns.fields.items()}
    header = {
        "fields": {name: values.dtype.str for name, values in arrays.items()},
        "size": next(iter(arrays.values())).size,
        "version": __version__,
        "errors": {str(place): reason for place, reason in columns.errors.items()},
    }
    return b"\n".join([json.dumps(header).encode(), b"".join(values.tobytes() for values in arrays.values())])


def decode(payload: bytes) -> Columns:
    """Columns of the bytes; the failures of another version of the library are not final."""
    line, _, body = payload.partition(b"\n")
    header = json.loads(line)
    fields, at = {}, 0
    for name, kind in header["fields"].items():
        fields[name] = np.frombuffer(body, kind, header["size"], at)
        at += fields[name].nbytes
    errors = {int(place): reason for place, reason in header["errors"].items()}
    return Columns(fields, errors, final=not errors or header["version"] == __version__)
