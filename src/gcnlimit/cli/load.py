"""A graph that is given by files."""

from __future__ import annotations

from typing import Any

from gcnlimit.errors import ParameterError


def load_labelled(file: str, nodes: str | None) -> Any:
    """Data set of a file, and of a table of nodes if it lists edges; some nodes must have labels."""
    from gcnlimit import real

    data = real.read(file, nodes)
    if all(c in (-1, "") for c in data.y.tolist()):
        if nodes is None:
            raise ParameterError(f"{file!r} has no labels; give a table with a column label by --nodes")
        raise ParameterError(f"{nodes!r} has no labels; name the column of the classes label, class or y")
    return data
