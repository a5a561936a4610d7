"""The operators and networks that are offered for a graph."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy.typing as npt
from scipy import sparse

from gcnlimit.errors import ParameterError
from gcnlimit.filters import Filter
from gcnlimit.graphs.operator import SparsePlusRankOne
from gcnlimit.real.candidates import NO_GRAPH, families, hops_up_to
from gcnlimit.real.leave_one_out import REG, Offer, Problem
from gcnlimit.real.operators import Propagation, propagation

AUTO = ("normalized", "centred")
HOPS = 4
PER_COLUMN = 4  # labelled nodes for each column of features that hops need


class Options(NamedTuple):
    """Parameters of `GraphClassifier`."""

    filter: str | Filter = "auto"
    operator: str = "auto"
    self_loops: bool = True
    direction: str = "both"
    strengths: npt.ArrayLike | None = None
    hops: int | str = "auto"
    reg: npt.ArrayLike = REG
    scale: str | None = "auto"
    class_weight: str | Mapping[Any, float] | None = None


def offers(problem: Problem, adjacency: Any, options: Options) -> list[Offer]:
    """Networks of a family, and hops where features are few, on each operator; no graph once. See `GraphClassifier`."""
    filter, operator, self_loops, direction, strengths, hops, *_ = options
    most = most_hops(problem, hops)
    kinds = families("pagerank" if filter == "auto" else filter, strengths, HOPS if hops == "auto" else most)
    if filter == "auto" and problem.bare and strengths is None:
        kinds += [kind for kind in families("diffusion") if kind is not NO_GRAPH]
    if not isinstance(filter, Filter) and filter != "hops":
        kinds = [*kinds, *hops_up_to(most)]
    found = []
    for name in AUTO if operator == "auto" else (operator,):
        S = propagation(adjacency, name, self_loops, direction)
        found.append(Offer(name, S if isinstance(filter, Filter) else S.unit(), kinds))
        kinds = [kind for kind in kinds if kind is not NO_GRAPH]
    return found


def identity(nodes: int) -> Propagation:
    """The operator that stands for no graph."""
    return Propagation(SparsePlusRankOne(sparse.eye_array(nodes, format="csr")), 1.0, True)


def most_hops(problem: Problem, hops: int | str) -> int:
    """Highest power that is offered beside the filter."""
    if hops == "auto":
        return HOPS if PER_COLUMN * (HOPS + 1) * problem.features.shape[1] <= problem.labelled.size else 0
    if isinstance(hops, str | bool) or hops != int(hops) or hops < 0:
        raise ParameterError(f"hops = {hops!r} is not allowed; use 'auto' or a whole number >= 0")
    return int(hops)
