"""The networks among which leave-one-out chooses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from gcnlimit._validation import real, whole
from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.filters import Diffusion, Filter, PageRank, Polynomial, Residual
from gcnlimit.real.operators import Propagation

FAMILIES = ("pagerank", "diffusion", "residual", "hops")
STRENGTHS = {
    "pagerank": (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, -0.3, -0.5, -0.7, -0.8, -0.9, -0.95),
    "diffusion": (0.5, 1.0, 2.0, 4.0, 8.0, 12.0, -0.5, -1.0, -2.0, -4.0, -8.0, -12.0),
    "residual": (0.0, 0.25, 0.5, 1.0, 2.0, 4.0, -1.0, -1.5, -2.0, -4.0),  # negative ones decrease along the spectrum
}
DEPTHS = (1, 2, 3, 4)
ACCURACY = 1e-10  # of the propagated features: a small reg magnifies errors by the range of the filter


class Network(NamedTuple):
    r"""Network :math:`h = \sum_b g_b(S) X W_b + b`: one filter, or the powers up to `hops` of the operator."""

    family: str
    strength: float
    filter: Filter | None
    hops: int = 0

    def apply(self, S: Propagation, blocks: list[Array]) -> Array:
        r"""Sum :math:`\sum_b g_b(S) B_b`, one block of columns for each filter."""
        if self.filter is not None:
            return _act(self.filter, S, blocks[0], transposed=False)
        total = blocks[-1]
        for block in blocks[-2::-1]:  # Horner's rule
            total = S.operator @ total + block
        return np.asarray(total)


class Candidates(NamedTuple):
    """Networks of one kind, which share their products with the operator.

    `build` makes the filter of one strength or several; None for the hops, whose strength is the highest power.
    """

    family: str
    strengths: tuple[float, ...]
    build: Callable[[Any], Filter] | None

    def networks(self) -> list[Network]:
        """Each by itself."""
        if self.build is None:
            return [Network(self.family, s, None, int(s)) for s in self.strengths]
        return [Network(self.family, s, self.build(s)) for s in self.strengths]

    def parts(self, size: int) -> Iterator[Candidates]:
        """The same in groups of at most `size`."""
        if self.build is None:  # powers build on each other
            size = len(self.strengths)
        for k in range(0, len(self.strengths), size):
            yield self._replace(strengths=self.strengths[k : k + size])

    def propagate(self, S: Propagation, block: Array, transposed: bool) -> Iterator[list[Array]]:
        """Blocks :math:`g_b(S) B` of each network in turn, or those of the transposed operator."""
        if self.build is None:
            yield from self._powers(S.transposed if transposed else S.operator, block)
        else:
            acted = _act(self.build(np.array(self.strengths)), S, block, transposed)
            yield from ([one] for one in acted.reshape(-1, *block.shape))

    def _powers(self, operator: Any, block: Array) -> Iterator[list[Array]]:
        powers = [block]
        for order in self.strengths:  # increasing
            while len(powers) <= order:
                powers.append(operator @ powers[-1])
            yield powers[: int(order) + 1]


NO_GRAPH = Candidates("no graph", (0.0,), lambda s: Polynomial(np.ones((*np.shape(s), 1))))


def families(filter: str | Filter, strengths: npt.ArrayLike | None = None, hops: int = 4) -> list[Candidates]:
    r"""Networks of a family on an operator whose top eigenvalue is 1, the one without a graph first.

    The strength is :math:`\theta` for PageRank, :math:`t` for diffusion, :math:`c` for residual networks of one to four
    layers. By default both signs are among the strengths, and no graph; strengths that are given are all there is, and 0
    among them means without a graph (but a network of its own for residual ones). A `Filter` is taken as it is.

    >>> [c.strengths for c in families("pagerank", strengths=[0.5, -0.5, 0.0])]
    [(0.0,), (0.5, -0.5)]
    >>> families("pagerank", strengths=[0.5])[0].networks()[0].filter
    PageRank(theta=0.5)
    """
    if isinstance(filter, Filter):
        return [_given(filter, strengths)]
    if filter not in FAMILIES:
        raise ParameterError(
            f"filter = {filter!r} is not a family; use 'auto', {', '.join(map(repr, FAMILIES))} or a filter such as PageRank(0.5)"
        )
    if filter == "hops":
        return [NO_GRAPH, *hops_up_to(hops)]
    given = (
        list(STRENGTHS[filter]) if strengths is None else np.ravel(np.asarray(real("strengths", strengths))).tolist()
    )
    if filter == "pagerank" and any(abs(s) >= 1.0 for s in given):
        raise ParameterError(f"strengths = {given} are not allowed; those of PageRank lie between -1 and 1")
    kept = tuple(s for s in given if s != 0.0 or filter == "residual")
    alone = [NO_GRAPH] if strengths is None or len(kept) < len(given) else []
    return [*alone, *_family(filter, kept)] if kept else alone


def hops_up_to(most: int) -> list[Candidates]:
    r"""Ridge regressions on :math:`X, SX, \dots, S^K X` for :math:`K = 1, \dots,` `most`."""
    orders = tuple(float(k) for k in range(1, whole("hops", most, low=0) + 1))
    return [Candidates("hops", orders, None)] if orders else []


def _family(name: str, strengths: tuple[float, ...]) -> list[Candidates]:
    if name == "residual":
        return [Candidates(name, strengths, partial(Residual.constant, depth=depth)) for depth in DEPTHS]
    return [Candidates(name, strengths, PageRank if name == "pagerank" else Diffusion)]


def _given(filter: Filter, strengths: npt.ArrayLike | None) -> Candidates:
    if strengths is not None:
        raise ParameterError("strengths go with a family such as 'pagerank'; a filter has its own parameter")
    if np.shape(filter(0.0)):
        raise ParameterError(f"filter = {filter!r} has several parameters; give one, or a family with strengths")
    return Candidates(type(filter).__name__.lower(), (np.nan,), lambda _: filter)


def _act(filter: Filter, S: Propagation, block: Array, transposed: bool) -> Array:
    """Action of the filter, with a leading axis if its parameter has one."""
    operator = S.transposed if transposed else S.operator
    acted = filter.apply(operator, block, radius=S.radius if S.symmetric else None, accuracy=ACCURACY)
    return np.asarray(acted)
