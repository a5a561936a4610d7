"""Your own graph: a file, read in this process and never executed, as the state of the model that it resembles."""

from __future__ import annotations

import base64
import binascii
import tempfile
from pathlib import Path
from typing import NamedTuple

from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.explorer.state import LIMITS, State
from gcnlimit.graphs.dataset import Dataset
from gcnlimit.real.estimate import Estimate, estimate
from gcnlimit.real.files import TABLES, read

LARGEST = 32 * 2**20
"""Bytes that an upload may have."""


class Described(NamedTuple):
    """State nearest to a graph, and what was found, in sentences."""

    state: State
    sentences: tuple[str, ...]


def describe_upload(state: State, contents: list[str], names: list[str]) -> Described:
    """State of uploaded files, each ``data:...;base64,...``: one ``.npz``, or a list of edges and a table of nodes.

    >>> describe_upload(State(), ["data:;base64,AAAA"], ["graph.exe"])
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: 'graph.exe' is no known kind of file; upload one .npz, or edges and nodes as two .csv files
    """
    for name in names:
        if Path(name).suffix.lower() not in {".npz", *TABLES}:
            raise ParameterError(
                f"{name[:60]!r} is no known kind of file; upload one .npz, or edges and nodes as two .csv files"
            )
    if len(contents) not in {1, 2} or len(contents) != len(names):
        raise ParameterError(
            f"{len(contents)} files were uploaded; give one .npz, or a list of edges and a table of nodes"
        )
    with tempfile.TemporaryDirectory() as folder:
        paths = [
            _write(Path(folder), k, text, name) for k, (text, name) in enumerate(zip(contents, names, strict=True))
        ]
        return describe_file(state, *_ordered(paths))


def describe_file(state: State, path: Path, nodes: Path | None = None) -> Described:
    """State of the model that the graph in a file resembles; the network stays as it is."""
    data = read(path, nodes)
    known = Dataset(data.graph, data.X, data.y).training() if data.train is None else data.training()
    found = estimate(data.X, known, data.graph)
    values, outside = _within(found)
    classes = len(found.fractions)
    share = ", ".join(f"{f:.4f}" for f in found.fractions)
    equal = classes == 2 and abs(found.fractions[0] - 0.5) < 0.1
    fitted = state.replaced(
        **values,
        directed=found.directed,
        symmetrize=True,
        classes="2" if equal else _fractions(found.fractions.tolist()),
    )
    sentences = (
        f"{data.nodes} nodes, {classes} classes ({share}): lam = {found.lam:.3g} +- {found.lam_error:.2g}, "
        f"mu = {found.mu:.3g} +- {found.mu_error:.2g}.",
        *outside,
        *found.warnings,
    )
    return Described(State.of_query(fitted.query()), sentences)


def _within(found: Estimate) -> tuple[dict[str, float], tuple[str, ...]]:
    """Estimates moved to the ends of the controls, and a sentence for each that was moved."""
    values, moved = {}, []
    for name in ("alpha", "lam", "mu", "rho"):
        value, limit = float(getattr(found, name)), LIMITS[name]
        values[name] = min(max(value, limit.low), limit.high)
        if values[name] != value:
            moved.append(f"{name} = {value:.3g} is outside of the page's controls; {values[name]:g} is shown.")
    return values, tuple(moved)


def _fractions(fractions: list[float]) -> str:
    """Fractions as text that sums to 1."""
    rounded = [round(f, 4) for f in fractions[:-1]]
    return ", ".join(map(str, [*rounded, round(1.0 - sum(rounded), 4)]))


def _write(folder: Path, number: int, text: str, name: str) -> Path:
    try:
        raw = base64.b64decode(text.partition(",")[2], validate=True)
    except (binascii.Error, ValueError):
        raise ParameterError(f"{name[:60]!r} did not arrive whole; upload it again") from None
    if len(raw) > LARGEST:
        raise GCNLimitError(
            f"{name[:60]!r} is larger than {LARGEST // 2**20} MB; use gcnlimit describe on the command line"
        )
    path = folder / f"{number}{Path(name).suffix.lower()}"
    path.write_bytes(raw)
    return path


def _ordered(paths: list[Path]) -> list[Path]:
    """The list of edges first: of two tables, the one whose first row names two columns as edges do."""
    if len(paths) == 1:
        return paths
    first = [path.read_bytes()[:4096].decode(errors="replace").splitlines()[:1] for path in paths]
    columns = [len(line[0].replace("\t", ",").split(",")) if line else 0 for line in first]
    heads = [line[0].lower() if line else "" for line in first]
    edges = next((k for k, head in enumerate(heads) if "source" in head or "target" in head), None)
    if edges is None:
        edges = 0 if columns[0] <= columns[1] else 1
    return [paths[edges], paths[1 - edges]]
