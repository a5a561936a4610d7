"""Nonsense at every entrance, and what must hold: an answer, or one sentence.

``python -m validation.fuzz_inputs --seconds 60 --seed 0`` tries, for a share of the time each,

- ``doors``: public functions and classes with one or two arguments replaced by something else: a `GCNLimitError`, or an answer;
- ``lines``: command lines, in this process: exit status 0, 1 or 2, and no other exception;
- ``files``: damaged .npz, .csv, .tsv and .csv.gz files: a `GCNLimitError`, or a data set;
- ``requests``: requests to the explorer: no status 500, and no traceback in its log.

A call that takes longer than ``--patience`` seconds is stopped and counted as slow, which is no finding. Each finding is
printed with what shows it again; ``--only doors --number 17 --seed 0`` repeats one trial. The exit status is 1 if there is
a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import logging
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import gcnlimit as gl

Generator = np.random.Generator
SIGNALS = {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}
DATA = gl.CSBM(**SIGNALS)
NETWORK = gl.GCN(gl.Diffusion(1.0))
GRAPH = gl.sample(gl.CSBM(2, 1.2, 2.0, 0.3, directed=False), nodes=40, degree=8, seed=0)
X, A, Y = GRAPH.features, GRAPH.adjacency, np.where(GRAPH.train_mask, GRAPH.labels > 0, -1)
SMALL = {"nodes": 40, "degree": 8.0, "seed": 0}


class Slow(BaseException):
    """A call takes too long."""


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
    import pandas

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


def written(value: object) -> str:
    """Text of an argument, whatever it is."""
    try:
        return " ".join(repr(value).split())[:80]
    except Exception:
        return f"<{type(value).__name__}>"


DOORS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "CSBM": (
        gl.CSBM,
        SIGNALS | {"directed": True, "classes": 2, "features": None, "degrees": None},
    ),
    "Spectrum": (gl.Spectrum, {"variance": [1.0, 2.0], "signal": [1.0, 1.0], "weight": [0.5, 0.5]}),
    "Gamma": (gl.Gamma, {"variance": 0.5}),
    "Pareto": (gl.Pareto, {"exponent": 4.0}),
    "Degrees": (gl.Degrees, {"values": [0.5, 1.5]}),
    "Residual": (gl.Residual, {"c": [1.0, 1.0]}),
    "Diffusion": (gl.Diffusion, {"t": 1.0}),
    "PageRank": (gl.PageRank, {"theta": 0.3}),
    "Polynomial": (gl.Polynomial, {"coefficients": [1.0, 0.5]}),
    "ElasticNet": (gl.ElasticNet, {"l1_ratio": 0.5}),
    "Regularized": (gl.Regularized, {"tau": 1.0}),
    "GCN": (
        gl.GCN,
        {
            "filter": gl.Diffusion(1.0),
            "loss": "square",
            "reg": 1.0,
            "symmetrize": True,
            "normalization": "symmetric",
        },
    ),
    "predict": (gl.predict, {"data": DATA, "gcn": NETWORK, "throw": True}),
    "bayes_optimal": (gl.bayes_optimal, {"data": DATA, "to": None, "gcn": None, "degree": None}),
    "transfer": (gl.transfer, {"data": DATA, "gcn": NETWORK, "to": DATA}),
    "tune": (gl.tune, {"data": DATA, "gcn": NETWORK, "free": {"t": (0.0, 2.0)}, "progress": False}),
    "sample": (gl.sample, {"data": DATA} | SMALL),
    "simulate": (gl.simulate, {"data": DATA, "gcn": NETWORK, "trials": 1, "workers": 1} | SMALL),
    "fit": (gl.fit, {"instance": GRAPH, "gcn": NETWORK}),
    "amp": (gl.amp, {"instance": GRAPH}),
    "sweep": (
        gl.sweep,
        {
            "what": "predict",
            "data": DATA,
            "gcn": NETWORK,
            "axes": {"lam": [1.0, 2.0]},
            "progress": False,
        },
    ),
    "estimate": (gl.estimate, {"X": X, "y": Y, "graph": A}),
    "describe": (gl.describe, {"X": X, "y": Y, "graph": A}),
    "recommend": (gl.recommend, {"X": X, "y": Y, "graph": A, "scale": "auto"}),
    "GraphClassifier": (
        lambda X, y, graph, **how: gl.GraphClassifier(**how).fit(X, y, graph=graph).predict(),
        {"X": X, "y": Y, "graph": A, "scale": "auto", "class_weight": None},
    ),
    "from_edges": (gl.real.from_edges, {"edges": [[0, 1], [1, 2]], "nodes": 3, "weights": None}),
    "Dataset": (gl.real.Dataset, {"graph": A, "X": X, "y": Y}),
    "read": (
        gl.real.read,
        {"path": "nowhere.csv", "nodes": None, "label": None, "drop": (), "encoding": None},
    ),
    "check_loss": (gl.check_loss, {"loss": gl.Square()}),
    "problem": (gl.benchmark.problems, {"names": None}),
}


def signature_of(door: Callable[..., Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Those of the usual arguments that a function has: others would be refused by Python itself."""
    import inspect

    names = inspect.signature(door).parameters
    if any(one.kind is one.VAR_KEYWORD for one in names.values()):
        return usual
    known = {name: value for name, value in usual.items() if name in names}
    for name, one in names.items():  # arguments whose names have changed
        if one.default is one.empty and name not in known and one.kind is not one.VAR_POSITIONAL:
            known[name] = next((value for key, value in usual.items() if key not in names), None)
    return known


def try_door(rng: Generator, folder: Path) -> str:
    """Call one door with one or two arguments replaced."""
    name = str(rng.choice(list(DOORS)))
    door, usual = DOORS[name]
    arguments = signature_of(door, usual)
    wrong = {
        str(key): nonsense(rng)
        for key in rng.choice(
            list(arguments), min(len(arguments), rng.integers(1, 3)), replace=False
        )
    }
    what = f"{name}({', '.join(f'{key}={written(value)}' for key, value in wrong.items())})"
    with _sentences(what):
        door(**arguments | wrong)
    return name


WORDS = [
    *[
        "x",
        "-1",
        "0",
        "1",
        "2",
        "0.5",
        "1e300",
        "1e-300",
        "nan",
        "inf",
        "1,2,3",
        "0:2:3",
        "0:2:0",
        "1:2:3:log",
        "::",
        "a:b:c",
        "é",
        "--",
        "-",
        "graph.npz",
        "edges.csv",
        "nodes.csv",
    ],
    *["nowhere.csv", "/", ".", "square", "softmax", "gamma", "t=0:2", "reg=1:2:log"],
    *("", "\0", "x" * 300),
]
VERBS = [
    "predict",
    "bayes",
    "sample",
    "simulate",
    "tune",
    "classify",
    "recommend",
    "describe",
    "benchmark",
    "sweep",
    "figure",
    "reproduce",
]
OPTIONS = [
    *[
        "alpha",
        "lam",
        "mu",
        "rho",
        "classes",
        "t",
        "c",
        "theta",
        "depth",
        "reg",
        "loss",
        "nodes",
        "degree",
        "seed",
        "trials",
        "out",
        "plot",
        "json",
        "output",
        "undirected",
        "free",
    ],
    *[
        "label",
        "id",
        "drop",
        "words",
        "encoding",
        "scale",
        "split",
        "normalization",
        "tau",
        "degrees-variance",
        "degrees-law",
        "to-lam",
        "workers",
        "store",
    ],
    *["run", "problem", "list", "format", "data", "balanced", "filter"],
]


def try_line(rng: Generator, folder: Path) -> str:
    """Run a command line of words that are somewhere allowed."""
    from click.testing import CliRunner

    from gcnlimit.cli.app import app

    verb = str(rng.choice(VERBS))
    line = [verb]
    if verb in ("predict", "bayes", "sample", "simulate", "tune") and rng.random() < 0.8:
        line += [f"--{name}={value}" for name, value in SIGNALS.items()]
        line += {"sample": ["--out=g.npz"], "tune": ["--free=t=0:2"]}.get(
            verb, [] if verb == "bayes" else ["--t=1"]
        )
        line += ["--nodes=40", "--degree=8"] if verb in ("sample", "simulate") else []
    elif verb in ("classify", "recommend", "describe"):
        line += [str(rng.choice(["graph.npz", "edges.csv", "broken.npz"]))] + [
            "--nodes=nodes.csv"
        ] * int(rng.integers(2))
    for _ in range(rng.integers(1, 4)):
        name = f"--{rng.choice(OPTIONS)}"
        value = str(rng.choice(WORDS))
        line += [[name], [name, value], [f"{name}={value}"], [value]][rng.integers(4)]
    done = CliRunner().invoke(app, line)
    raised = done.exception
    if (raised is not None and not isinstance(raised, SystemExit)) or done.exit_code not in (
        0,
        1,
        2,
    ):
        if isinstance(raised, Slow):
            raise raised
        raise Finding(f"gcnlimit {json.dumps(line)}: {raised!r}")
    if "Traceback" in done.output:
        raise Finding(f"gcnlimit {json.dumps(line)}: a traceback")
    return verb


EDGES = "source,target,weight\n" + "".join(f"n{k},n{(7 * k + 3) % 40},1.5\n" for k in range(80))
NODES = "id,label,age,city,born\n" + "".join(
    f"n{k},{k % 2},{20 + k},{'ab'[k % 2]},2020-01-{k % 28 + 1:02d}\n" for k in range(40)
)
CELLS = [
    "",
    "NA",
    "-1",
    "1e400",
    "=1+1",
    '"',
    "'",
    "1,5",
    "12%",
    "$5",
    "1.234,5",
    "2020-02-30",
    "x" * 10**5,
    "\r",
    "\0",
    "é",
    "nan",
    ";",
    "\t",
]


def try_file(rng: Generator, folder: Path) -> str:
    """Read a file after some damage."""
    kind = str(rng.choice(["npz", "bytes of npz", "csv", "gz", "tsv"]))
    graph, edges, nodes = (folder / f"{name}" for name in ("one.npz", "one.csv", "two.csv"))
    given: tuple[Path, ...] = (edges, nodes)
    if "npz" in kind:
        given = (graph,)
        GRAPH.save(graph) if rng.random() < 0.5 else gl.real.write(GRAPH.to_dataset(), graph)
        if kind == "npz":
            _damage_fields(rng, graph)
        else:
            graph.write_bytes(_damage(rng, graph.read_bytes()))
    else:
        texts = [_damage_table(rng, text) for text in (EDGES, NODES)]
        if kind == "tsv":
            texts = [text.replace(",", "\t") for text in texts]
        for path, text in zip(given, texts, strict=True):
            path.write_bytes(text.encode(str(rng.choice(["utf-8", "cp1252", "utf-16"])), "replace"))
        if kind == "gz":
            given = (folder / "one.csv.gz", nodes)
            given[0].write_bytes(_damage(rng, gzip.compress(edges.read_bytes())))
    with _sentences(f"read {kind}"):
        gl.real.read(*given)
    if len(given) == 1:
        with _sentences(f"load {kind}"):
            gl.Instance.load(graph)
    return kind


def _damage(rng: Generator, raw: bytes) -> bytes:
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


class Requests:
    """An explorer that is sent requests."""

    def __init__(self) -> None:
        from gcnlimit.explorer.app import Explorer
        from gcnlimit.explorer.state import State

        self._explorer = Explorer(State())
        self._client = self._explorer.server.test_client()
        self._log = io.StringIO()
        self._explorer.server.logger.handlers = [logging.StreamHandler(self._log)]

    def __call__(self, rng: Generator, folder: Path) -> str:
        """Send a request that the page would not make."""
        paths = [
            "/",
            "/pictures",
            "/_dash-layout",
            "/_dash-update-component",
            "/_dash-component-suites/../x",
            "/assets/x",
            "/%ff",
            "/\0",
            "/a" * 99,
        ]
        hosts = [
            "localhost",
            "[::1",
            "127.0.0.1:99999",
            "evil.example",
            "[]",
            "é".encode().decode("latin-1"),
            "",
        ]
        path, host = (
            str(rng.choice(paths)),
            str(rng.choice(hosts)) if rng.random() < 0.3 else "localhost",
        )
        headers = {"Host": host} | (
            {"Origin": str(rng.choice(["http://[bad", "null", "http://localhost", "x"]))}
            if rng.random() < 0.2
            else {}
        )
        body = self._body(rng)
        method = str(rng.choice(["POST", "GET", "PUT", "OPTIONS"], p=[0.7, 0.2, 0.05, 0.05]))
        what = f"{method} {path!r} {headers} {body[:300]!r}"
        with contextlib.suppress(UnicodeError):
            answer = self._client.open(
                path, method=method, headers=headers, data=body, content_type="application/json"
            )
            answer.get_data()
            if answer.status_code >= 500:
                raise Finding(f"{what}: status {answer.status_code}")
        if "Traceback" in self._log.getvalue():
            self._log.truncate(0)
            raise Finding(f"{what}: a traceback in the log")
        return path

    def _body(self, rng: Generator) -> bytes:
        values = [
            None,
            True,
            -1,
            1e308,
            "",
            "x",
            [],
            {},
            [[]],
            {"id": "x"},
            "inf",
            10**400,
            "a" * 1000,
            ["strength-diffusion"],
        ]
        any_of = lambda: values[rng.integers(len(values))]  # noqa: E731
        picture = {"values": {}, "client": "me", "number": 1, "seen": ["strength-diffusion"]}
        state = {"id": "client", "property": "data", "value": "me"}
        inputs = [{"id": "stop", "property": "n_clicks", "value": 1}]
        outputs = {"id": "stop", "property": "title"}
        call = {
            "output": "stop.title",
            "outputs": outputs,
            "inputs": inputs,
            "state": [state],
            "changedPropIds": ["stop.n_clicks"],
        }
        name = str(rng.choice(["lam", "classes", "loss", "reg", "depth", "x"]))
        other = {"values": {name: any_of()}, "client": "m", "number": 2, "seen": []}
        requests: list[dict[str, Any]] = [picture, call, other]
        chosen = requests[rng.integers(3)]
        for _ in range(rng.integers(0, 3)):
            chosen = {**chosen, str(rng.choice(list(chosen))): any_of()}
        raw = json.dumps(chosen).encode()
        return raw if rng.random() < 0.8 else _damage(rng, raw)

    def close(self) -> None:
        """End its processes."""
        self._explorer.close()


class Finding(Exception):  # noqa: N818
    """What should not have happened."""


@contextlib.contextmanager
def _sentences(what: str) -> Iterator[None]:
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


KINDS = ("doors", "lines", "files", "requests")


def _trials(kind: str) -> tuple[Callable[[Generator, Path], str], Callable[[], None]]:
    """What tries one thing, and what is done at the end."""
    if kind == "requests":
        served = Requests()
        return served, served.close
    return {"doors": try_door, "lines": try_line, "files": try_file}[kind], lambda: None


def _stop(*_: object) -> None:
    raise Slow


def fuzz(
    kind: str, seed: int, seconds: float, patience: float, number: int | None = None
) -> Counter[str]:
    """Try things for some seconds, print the findings, and count what was tried, found and slow."""
    counts: Counter[str] = Counter()
    attempt, close = _trials(kind)
    end = time.monotonic() + seconds
    signal.signal(signal.SIGALRM, _stop)
    try:
        for k in range(10**9) if number is None else [number]:
            if time.monotonic() > end:
                break
            rng = np.random.default_rng([seed, KINDS.index(kind), k])
            counts["tried"] += 1
            signal.setitimer(signal.ITIMER_REAL, patience)
            try:
                with (
                    warnings.catch_warnings(),
                    tempfile.TemporaryDirectory() as folder,
                    contextlib.chdir(folder),
                ):
                    warnings.simplefilter("ignore")
                    if kind == "lines":
                        _prepare(Path(folder))
                    attempt(rng, Path(folder))
            except Finding as finding:
                counts["found"] += 1
                print(f"{kind} {k}: {finding}", flush=True)
            except Slow:
                counts["slow"] += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0.0)
    finally:
        close()
    return counts


def _prepare(folder: Path) -> None:
    """Files that command lines may name."""
    GRAPH.save(folder / "graph.npz")
    (folder / "broken.npz").write_bytes(b"PK")
    (folder / "edges.csv").write_text(EDGES)
    (folder / "nodes.csv").write_text(NODES)


def main(arguments: list[str] | None = None) -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="time in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=KINDS, help="one kind of entrance")
    parser.add_argument("--number", type=int, help="one trial of that kind again")
    parser.add_argument("--patience", type=float, default=10.0, help="seconds of one call")
    asked = parser.parse_args(arguments)
    kinds = (asked.only,) if asked.only else KINDS
    os.environ["GCNLIMIT_MEMORY"] = "1"  # what needs more is refused at once
    found = 0
    for kind in kinds:
        counts = fuzz(kind, asked.seed, asked.seconds / len(kinds), asked.patience, asked.number)
        found += counts["found"]
        print(
            f"{kind}: {counts['tried']} tried, {counts['found']} findings, {counts['slow']} slow",
            flush=True,
        )
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
