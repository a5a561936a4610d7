"""Nonsense for the fuzzers of entrances: values, damaged bytes, a small graph, and what counts as a finding."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
from scipy import sparse

import gcnlimit as gl

Generator = np.random.Generator
SIGNALS = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}
DATA = gl.CSBM(**SIGNALS)
NETWORK = gl.GCN(gl.Diffusion(1.0))
GRAPH = gl.sample(gl.CSBM(2, 1.2, 2.0, 0.3, directed=False), nodes=40, degree=8, seed=0)
EDGES = "source,target,weight\n" + "".join(f"n{k},n{(7 * k + 3) % 40},1.5\n" for k in range(80))
NODES = "id,label,age,city,born\n" + "".join(
    f"n{k},{k % 2},{20 + k},{'ab'[k % 2]},2020-01-{k % 28 + 1:02d}\n" for k in range(40)
)


class Slow(BaseException):
    """A call takes too long."""


class Finding(Exception):  # noqa: N818
    """What should not have happened."""


@contextlib.contextmanager
def sentences(what: str) -> Iterator[None]:
    """Let errors of the library pass, if they are one line, and find all others."""
    try:
        yield
    except gl.GCNLimitError as error:
        if "\n" in str(error) or not str(error):
            raise Finding(f"{what}: the sentence is {str(error)!r}") from None
    except Exception as error:
        *_, place = traceback.extract_tb(error.__traceback__)
        where = f"{Path(place.filename).name}:{place.lineno}"
        raise Finding(f"{what}: {type(error).__name__}: {str(error)[:150]} ({where})") from None


class Unfriendly:
    """An object none of whose methods work."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("no array")


def nonsense(rng: Generator) -> Any:
    """Something that is hardly what a parameter should be."""
    shape = [(), (0,), (1,), (3,), (11,), (2, 3), (1 << 12,), (40, 40), (40,)][rng.integers(9)]
    kind = str(
        rng.choice(
            ["f8", "f4", "i8", "u1", "?", "c16", "U3", "S2", "M8[D]", "m8[s]", "O", "g", "V4"]
        )
    )
    array = np.zeros(shape, kind)
    if kind == "f8":
        array = rng.normal(size=shape) * 10.0 ** rng.integers(-300, 300)
    made: list[Callable[[], Any]] = [
        lambda: None,
        lambda: bool(rng.integers(2)),
        lambda: int(rng.integers(-3, 4)),
        lambda: float(rng.choice([0.0, -0.0, 1e-300, 1e300, np.nan, np.inf, -np.inf, -1.0, 0.5])),
        lambda: 10 ** int(rng.choice([20, 400, 5000])),
        lambda: Decimal("0.5"),
        lambda: 1j,
        lambda: np.longdouble("1e4000"),
        lambda: str(
            rng.choice(["", "x", "square", "0.5", "auto", "\0", "é" * 300, "a/b", "../x.npz"])
        ),
        lambda: b"x",
        list,
        lambda: [[1.0], [1.0, 2.0]],
        lambda: [None, "a", 1.0],
        lambda: (1, 2),
        lambda: {"t": (0, 1)},
        dict,
        lambda: {1, 2},
        lambda: range(3),
        lambda: (k for k in range(3)),
        object,
        Unfriendly,
        lambda: lambda *_: np.nan,
        lambda: float,
        lambda: Path("nowhere.npz"),
        lambda: np.ma.masked_array([1.0, 2.0], [False, True]),
        lambda: np.datetime64("2020-01-01"),
        lambda: sparse.csr_array(np.eye(3)),
        lambda: pandas.DataFrame({"a": [1.0, 2.0], "b": ["x", None]}),
        lambda: pandas.Series([1.0, np.nan]),
        lambda: DATA,
        lambda: NETWORK,
        lambda: gl.Diffusion([0.5, 1.0]),
        lambda: GRAPH,
    ]
    if rng.random() < 0.4:
        return array
    return made[rng.integers(len(made))]()


def damage(rng: Generator, raw: bytes) -> bytes:
    """Bytes of which some are changed, left out or doubled."""
    damaged = bytearray(raw)
    for _ in range(rng.integers(1, 6)):
        place = int(rng.integers(len(damaged)))
        how = rng.integers(3)
        if how == 0:
            damaged[place] = int(rng.integers(256))
        elif how == 1:
            del damaged[place : place + int(rng.integers(1, 50))]
        else:
            damaged[place:place] = damaged[place : place + 20]
        if not damaged:
            return b""
    return bytes(damaged)
