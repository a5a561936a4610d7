"""Where to start: an example, or the model that your own graph resembles, whose file is read and never executed."""

from __future__ import annotations

import base64
import math
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from gcnlimit._runtime.memory import at_most
from gcnlimit._values import measured
from gcnlimit.benchmark.problems import Problem, problems
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM, SIGNALS
from gcnlimit.degrees import Gamma
from gcnlimit.errors import GCNLimitError, ParameterError
from gcnlimit.explorer.state import LIMITS, State
from gcnlimit.graphs.check import counted
from gcnlimit.graphs.columns import spelling
from gcnlimit.graphs.dataset import Dataset
from gcnlimit.graphs.table_files import ENDS
from gcnlimit.graphs.tables import LABEL
from gcnlimit.real.estimate import Estimate
from gcnlimit.real.files import TABLES, read_labelled
from gcnlimit.real.recommend import recommend

LARGEST = 32 * 2**20
"""Bytes that an upload may have."""
MEMORY = 2.5e9
"""Bytes that reading one may take, and that it may unpack to."""
COLUMNS = 20_000
"""Columns that it may have: more take minutes."""
_FIRST = re.compile("[^,;\t|]*")  # cell of a row


def _controls(data: CSBM | Estimate) -> dict[str, Any]:
    """Values of the controls of the data, as far as the page has them."""
    values = {name: float(np.clip(getattr(data, name), *LIMITS[name][:2])) for name in SIGNALS}
    law, most = data.degrees, LIMITS["degrees_variance"].high
    variance = 0.0 if law is None else min(law.moment(2.0) - 1.0, most)
    shares = [round(float(f), 4) for f in data.fractions]
    shares[-1] = round(1.0 - sum(shares[:-1]), 4)  # so that the text sums to 1
    equal = Classes.of(data.fractions).equal
    classes = str(len(shares)) if equal else ", ".join(map(str, shares))
    return values | {"classes": classes, "directed": data.directed, "degrees_variance": variance}


def _of_problem(problem: Problem) -> State:
    values = _controls(problem.data) | {"degree": problem.degree}
    if (to := problem.to) is not None:
        values |= {"elsewhere": True, "to_lam": float(to.lam), "to_mu": float(to.mu)}
    return State(**values)


def _has_controls(problem: Problem) -> bool:
    """Whether the page has controls for a problem: other laws of degrees and graphs of another size have none."""
    same_size = problem.to is None or problem.to.alpha == problem.data.alpha
    return same_size and isinstance(problem.data.degrees, Gamma | None)


def _residual(**values: Any) -> State:
    """Residual network of the paper's figures."""
    usual: dict[str, Any] = {"family": "residual", "reg": 1.0, "symmetrize": False}
    return State(**(usual | values))


_STRONG: dict[str, Any] = {"lam": 1.5, "mu": 3.0}

PRESETS = {
    "First steps": {
        "Diffusion on a homophilic graph": State(),
        "Heterophily": State(lam=-1.0, t=-1.0),
        "Features alone": State(lam=0.0, mu=4.0, axis="mu"),
        "Weak features: finite regularization wins": State(lam=0.75, mu=0.5, rho=0.5, reg=10.0),
        "Five classes": State(classes="5", axis="classes"),
        "Unequal classes, 20 and 80 per cent": State(classes="0.2, 0.8", reg=1.0),
        "Hubs: divide by the degree plus a constant": State.of_query(
            "?alpha=10&mu=1&rho=0.05&directed=false&degrees_variance=1"
            "&family=pagerank&theta=0.45&normalization=regularized"
        ),
        "Homophily reversed at test": State(lam=1.2, directed=False, elsewhere=True, to_lam=-1.2),
    },
    "From the paper": {
        "Introduction: residual networks": _residual(reg=10.0, symmetrize=True),
        "Residual strength, square loss": _residual(),
        "Residual strength, logistic loss": _residual(**_STRONG, loss="logistic"),
        "Depth and oversmoothing": _residual(**_STRONG, depth=12, reg=math.inf),
        "Diffusion, directed graph": State(**_STRONG, reg=1.0, symmetrize=False),
        "Diffusion, symmetrized graph": State(**_STRONG, reg=1.0),
        "Diffusion at finite depth": _residual(alpha=1.0, lam=1.5, depth=4, c=2.0, reg=math.inf),
        "Best diffusion time": State(alpha=2.0, mu=1.0, rho=0.3),
        "Symmetric against asymmetric": _residual(**_STRONG, directed=False),
        "Learning rates": State(lam=2.0, mu=1.0, family="residual"),
        "Gap to the ceiling": State(alpha=1.0, lam=0.5, mu=1.0),
    },
    "Benchmark problems": {p.name: _of_problem(p) for p in problems() if _has_controls(p)},
}
"""States by group and name."""


def describe_upload(
    state: State, contents: list[str], names: list[str], scale: str = "auto", **how: Any
) -> tuple[State, str]:
    """State of uploaded files, each ``data:...;base64,...``: one ``.npz``, or a list of edges and a table of nodes.

    `scale` is that of `recommend`, the others are options of `gcnlimit.real.read`, which sentences call by the names on the page.

    >>> describe_upload(State(), ["data:;base64,AAAA"], ["graph.exe"])
    Traceback (most recent call last):
        ...
    gcnlimit.errors.ParameterError: 'graph.exe' is not a known kind of file; upload one .npz, or edges and nodes as two .csv files
    """
    wanted = "upload one .npz, or edges and nodes as two .csv files"
    for name in names:
        if Path(name).suffix.lower() not in {".npz", *TABLES}:
            raise ParameterError(f"{name[:60]!r} is not a known kind of file; {wanted}")
    whole = len(names) == 1 and names[0].lower().endswith(".npz")
    if len(contents) != len(names) or not (whole or len(names) == 2):
        raise ParameterError(f"{counted(len(contents), 'file')} came; {wanted}")
    with tempfile.TemporaryDirectory() as folder, at_most(MEMORY):
        paths = {_write(Path(folder), k, contents[k], name): name for k, name in enumerate(names)}

        def named(sentence: str) -> str:
            for path, name in paths.items():
                sentence = sentence.replace(str(path), name[:60])
            return sentence

        before = spelling.set(_on_the_page)
        try:
            order = {path: _edge_like(path) for path in paths}
            _check_width(*(0 if whole else place[-1] for place in order.values()))
            data = read_labelled(*map(str, sorted(order, key=order.__getitem__)), **how)
            _check_width(np.shape(data.X)[1])
            fitted, sentence = describe(state, data, scale)
            return fitted, named(sentence)
        except GCNLimitError as error:
            words = named(str(error)).removeprefix("path = ")
        except MemoryError:
            words = "your graph needs more memory than an upload may take; use gl.recommend"
        finally:
            spelling.reset(before)
    raise GCNLimitError(words)  # here, else it would keep the error with all that was read


def _check_width(*columns: int) -> None:
    if max(columns) > COLUMNS:
        most = f"a table has {max(columns)} columns, more than the {COLUMNS} that the page takes"
        raise GCNLimitError(f"{most}; leave some out, or use gl.recommend in Python")


def _on_the_page(name: str, value: Any) -> str:
    """An option of `gcnlimit.real.read` as the page has it."""
    if name == "nodes":
        return "a second file"
    field = {"id": "Names of nodes", "drop": "Leave out", "words": "Words", "label": "Classes"}
    wanted = "" if value in (True, "COLUMN", "NAME") else f" ({value})"
    return f"the field {field.get(name, name.capitalize())}{wanted} of How to read my graph"


def describe(state: State, data: Dataset, scale: str = "auto") -> tuple[State, str]:
    """State of the model that `recommend` finds in a graph, with its errors, the network as it is, and what is recommended."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        advice = recommend(data.X, data.training(), data.graph, scale=scale)
    estimate = advice.estimate
    usual = {"estimated": True, "normalization": "symmetric", "symmetrize": True}
    fitted = state.replaced(**_controls(estimate), **usual).rounded()
    if fitted.unequal:
        fitted = fitted.replaced(degrees_variance=0.0)
    *tables, sentences = str(advice).split("\n\n")
    size = f"Your graph: {data.nodes} nodes, {len(estimate.fractions)} classes."
    graph = f"lam = {measured(estimate.lam, estimate.lam_error)}"
    signals = f"{graph}, mu = {measured(estimate.mu, estimate.mu_error)}"
    model = f"The sliders show the estimated model: {signals}."
    if advice.doubts:
        model += f"\nYour graph may not follow it: {advice.doubts[0]}."
    told = dict.fromkeys(f"Warning: {w.message}." for w in said if w.category is UserWarning)
    head = "\n".join([size, *data.notes, *told, model])
    return State.of_query(fitted.query()), "\n\n".join((head, sentences, *tables))


def _write(folder: Path, number: int, text: str, name: str) -> Path:
    raw = base64.b64decode(text.partition(",")[2])
    if len(raw) > LARGEST:
        size = f"{name[:60]!r} is larger than {LARGEST // 2**20} MB, the most that the page takes"
        raise GCNLimitError(f"{size}; use gl.recommend in Python")
    path = folder / f"{number}{Path(name).suffix.lower()}"
    path.write_bytes(raw)
    return path


def _edge_like(path: Path) -> tuple[bool, bool, bool, int]:
    """Sort key of two tables, edges first: names of columns, no classes, a node in several rows, number of columns."""
    text = path.read_bytes().decode(errors="replace").replace("\0", "").lower()
    lines = [*filter(None, text.splitlines())] or [""]
    head = {*re.split("[,;\t|]", lines[0][:1_000_000])}
    edges, nodes = (head.intersection(names) for names in (ENDS[0], LABEL))
    once = len({found[0] for found in map(_FIRST.match, lines) if found}) == len(lines)
    return not edges, bool(nodes), once, 1 + sum(map(lines[0].count, ",;\t|"))
