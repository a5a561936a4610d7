"""Damaged .npz, .csv, .tsv and .csv.gz files, results and stores: a `GCNLimitError`, or an answer; of a store the same one."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

import gcnlimit as gl
from validation.nonsense import (
    DATA,
    EDGES,
    GRAPH,
    NETWORK,
    NODES,
    Finding,
    Generator,
    damage,
    nonsense,
    sentences,
)

NUMBERS = ["-1", "1e400", "=1+1", "1,5", "12%", "$5", "1.234,5", "2020-02-30", "nan"]
CELLS = [*NUMBERS, "", "NA", '"', "'", ";", "é", "x" * 10**5, "\r", "\0", "\t"]


def try_file(rng: Generator, folder: Path) -> str:
    """Read a file after some damage."""
    kind = str(rng.choice(["npz", "bytes of npz", "csv", "gz", "tsv", "json", "store"]))
    if kind in ("json", "store"):
        _try_results(rng, folder / f"one.{kind}")
        return kind
    graph, edges, nodes = (folder / f"{name}" for name in ("one.npz", "one.csv", "two.csv"))
    given: tuple[Path, ...] = (edges, nodes)
    if "npz" in kind:
        given = (graph,)
        GRAPH.save(graph) if rng.random() < 0.5 else gl.real.write(GRAPH.to_dataset(), graph)
        if kind == "npz":
            _damage_fields(rng, graph)
        else:
            graph.write_bytes(damage(rng, graph.read_bytes()))
    else:
        texts = [_damage_table(rng, text) for text in (EDGES, NODES)]
        if kind == "tsv":
            texts = [text.replace(",", "\t") for text in texts]
        for path, text in zip(given, texts, strict=True):
            path.write_bytes(text.encode(str(rng.choice(["utf-8", "cp1252", "utf-16"])), "replace"))
        if kind == "gz":
            given = (folder / "one.csv.gz", nodes)
            given[0].write_bytes(damage(rng, gzip.compress(edges.read_bytes())))
    with sentences(f"read {kind}"):
        gl.real.read(*given)
    if len(given) == 1:
        with sentences(f"load {kind}"):
            gl.Instance.load(graph)
    return kind


RUN = gl.benchmark.Run("mine", "reference", "small", 0, 0.9, 1.0)
AXES = {"lam": [0.5, 1.0, 1.5], "mu": [1.0, 2.0]}


def _swept(path: Path | None) -> list[float]:
    found = gl.sweep("predict", data=DATA, gcn=NETWORK, axes=AXES, store=path, progress=False)
    return list(found.test_accuracy.values.ravel())


def _try_results(rng: Generator, path: Path) -> None:
    """Load results of the benchmark, or sweep with a store, after some damage."""
    if path.suffix == ".json":
        gl.benchmark.Scores((RUN,)).save(path)
        path.write_bytes(damage(rng, path.read_bytes()))
        with sentences("load results"):
            str(gl.benchmark.Scores.load(path))
        return
    whole = _swept(path)
    path.write_bytes(damage(rng, path.read_bytes()))
    with sentences("sweep with a damaged store"):
        if _swept(path) != whole:
            raise Finding("a damaged store gives other numbers")


def _damage_table(rng: Generator, text: str) -> str:
    lines = text.split("\n")
    for _ in range(rng.integers(1, 5)):
        row = int(rng.integers(len(lines)))
        cells = lines[row].split(",")
        cells[rng.integers(len(cells))] = str(rng.choice(CELLS))
        lines[row] = ",".join(cells)
    if rng.random() < 0.2:
        del lines[0]
    return "\n".join(lines)


def _damage_fields(rng: Generator, path: Path) -> None:
    with np.load(path) as file:
        fields = dict(file)
    for name in rng.choice(list(fields), rng.integers(1, 3), replace=False):
        value = nonsense(rng)
        if rng.random() < 0.3:
            fields.pop(str(name), None)
        elif isinstance(value, np.ndarray) and value.dtype.kind != "O":
            fields[str(name)] = value
        elif fields[str(name)].size and fields[str(name)].dtype.kind in "iuf":
            fields[str(name)] = fields[str(name)].copy()
            fields[str(name)].flat[rng.integers(fields[str(name)].size)] = rng.choice(
                [-1, 0, 10**6, 2**31 - 1]
            )
    np.savez(path, **fields)
