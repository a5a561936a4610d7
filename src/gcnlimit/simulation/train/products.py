r"""Training rows :math:`F = [g(a) X/\sqrt N]_R`, and training by products alone where they are not held.

Features that are not stored, or lie on a device, are only multiplied. With dual variables :math:`\beta`, the weights are
:math:`w = F^T \beta` and the outputs on the labelled nodes :math:`h = K\beta` with :math:`K = FF^T`. A product with :math:`K`
takes one pass over the features, for the columns of several networks at once. At infinite regularization :math:`\beta` are the
codes of the labels, and one pass makes weights and outputs.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.threads import over_blocks
from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Filter
from gcnlimit.filters.action import WIDTH, Block, column_blocks
from gcnlimit.simulation.backend import Backend, Device, backend_of
from gcnlimit.simulation.data.features import StreamedFeatures, one_pass
from gcnlimit.simulation.data.observation import Features, Mask, Observation, streamed
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.data.size import PROPAGATED_AT_ONCE
from gcnlimit.simulation.train.descent import CrossEntropy, Descent, descent, krylov

Groups = list[npt.NDArray[np.intp]]
T = TypeVar("T")
ROWS_AT_ONCE = 1 << 26  # numbers: the training rows of several filters held together
PASSES = 500  # of one training, at most
MAX_PASSES = (
    5000  # the same where there are as many labelled nodes, whose Krylov space is then whole
)
FINEST = {4: 2e-6, 8: 1e-13}  # relative error of a product, by the bytes of a number
ROUNDING = 1e-5  # residual that it may leave where the gain of a filter is large


def training_rows(observation: Observation, operator: Operator, filters: Filter) -> Block:
    r"""Training rows of each filter, of shape ``(filters, |R|, M)``.

    Propagates the :math:`|R|` training nodes backwards, :math:`F^T = X^T g(a)^T I_R/\sqrt N`, if they are fewer than the
    :math:`M` features, and the features forwards otherwise. The filters share the products with the operator.
    """
    rows = int(observation.train_mask.sum())
    columns = observation.features.shape[1]
    out = np.empty((*filters.shape, rows, columns), observation.features.dtype)
    (_backward if rows <= columns else _forward)(observation, operator, filters, out)
    out /= np.sqrt(observation.nodes).astype(out.dtype)
    return out


def groups_by_filter(filters: Filter, points: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """Points that have the same filter."""
    if not points.size:
        return []
    values = filters.values[points].reshape(points.size, -1)
    which = np.unique(values, axis=0, return_inverse=True)[1].reshape(-1)
    return [points[which == k] for k in range(which.max() + 1)]


def rows_by_filter(
    observation: Observation, operator: Operator, filters: Filter, points: npt.NDArray[np.intp]
) -> Iterator[tuple[npt.NDArray[np.intp], Array]]:
    """Points that have the same filter, and its training rows."""
    groups = groups_by_filter(filters, points)
    at_once = max(
        1, ROWS_AT_ONCE // (int(observation.train_mask.sum()) * observation.features.shape[1])
    )
    for start in range(0, len(groups), at_once):
        chunk = groups[start : start + at_once]
        rows = training_rows(
            observation, operator, filters[np.array([group[0] for group in chunk])]
        )
        for group, F in zip(chunk, rows, strict=True):
            yield group, np.asarray(F, float)


def _backward(observation: Observation, operator: Operator, filters: Filter, out: Block) -> None:
    X = observation.features
    labelled = np.flatnonzero(observation.train_mask)
    width = WIDTH * max(
        1, PROPAGATED_AT_ONCE // (math.prod(filters.shape) * observation.nodes * WIDTH)
    )
    for part in column_blocks(labelled.size, labelled.size if streamed(X) else width):
        indicators = np.zeros((observation.nodes, part.stop - part.start), X.dtype)
        indicators[labelled[part], np.arange(indicators.shape[1])] = 1.0
        for k, propagated in enumerate(
            filters.apply(operator.T, indicators, radius=operator.radius)
        ):
            _multiply(propagated, X, out[k, part])


def _multiply(propagated: Block, X: Features, out: Block) -> None:
    r"""Product :math:`B^T X`, some features at a time."""
    if not isinstance(X, np.ndarray):
        out[...] = (X.T @ propagated).T
        return

    def one(part: slice) -> None:
        np.matmul(propagated.T, X[:, part], out=out[:, part])

    pieces = 4  # alike, so that no thread waits for another
    over_blocks(one, column_blocks(X.shape[1], math.ceil(X.shape[1] / pieces)), X.size)


def _forward(observation: Observation, operator: Operator, filters: Filter, out: Block) -> None:
    X = np.asarray(observation.features)
    radius = operator.radius

    def one(part: slice) -> None:
        out[:, :, part] = filters.apply(operator, X[:, part], radius=radius)[
            :, observation.train_mask
        ]

    over_blocks(one, column_blocks(X.shape[1]), X.size)


@dataclass(frozen=True, eq=False)
class Products:
    """Operator and features on a device, and which nodes are labelled."""

    operator: Operator
    features: Any
    train_mask: Mask
    backend: Backend
    dtype: np.dtype[Any]

    @staticmethod
    def of(observation: Observation, operator: Operator, device: Device) -> Products:
        """Products of an observation, whose features are placed on the device if they are stored."""
        X = observation.features
        backend = backend_of(device)
        here: Any = X if isinstance(X, StreamedFeatures) else backend.place(X)
        return Products(operator, here, observation.train_mask, backend, X.dtype)

    def gram(self, block: Array, filters: Filter) -> Array:
        r"""Product :math:`K B`, each column with the filter of its own."""
        sizes = np.linalg.norm(block, axis=0)  # so that nothing underflows in single precision
        sizes[sizes == 0.0] = 1.0
        _, outputs, _ = self.forward(self.spread(block / sizes, filters), filters)
        return np.asarray(outputs[self.train_mask] * sizes, np.float64)

    def spread(self, block: Array, filters: Filter) -> Any:
        r"""Labelled nodes propagated backwards, :math:`g(a)^T R^T B`, each column with the filter of its own."""
        return filters.apply_each(
            self.operator.T, self._all_nodes(block), radius=self.operator.radius
        )

    def spread_alike(self, block: Array, filters: Filter) -> Any:
        """The same for filters that all act on one block, which share the products with the graph; filter after filter."""
        parts = filters.apply(self.operator.T, self._all_nodes(block), radius=self.operator.radius)
        return self.backend.join(list(parts), 1)

    def forward(self, spread: Any, filters: Filter) -> tuple[Block, Block, Block]:
        r"""Weights :math:`w = X^T B/\sqrt N`, outputs :math:`g(a) X w/\sqrt N`, and :math:`Xw/\sqrt N`: one pass."""
        unit = 1.0 / math.sqrt(len(self.train_mask))
        weights, signal = one_pass(self.features, spread * unit)
        signal = signal * unit
        outputs = filters.apply_each(self.operator, signal, radius=self.operator.radius)
        return self.backend.host(weights), self.backend.host(outputs), self.backend.host(signal)

    def _all_nodes(self, block: Array) -> Any:
        whole = np.zeros((len(self.train_mask), block.shape[1]), self.dtype)
        whole[self.train_mask] = block
        return self.backend.place(whole)


@dataclass(frozen=True, eq=False)
class _Points:
    """Networks to be trained: a filter, and a `reg`, at each point; `codes` of the labelled nodes; dual variables to be found.

    With a free bias these sum to 0. The Krylov spaces of the square loss are then those of the outputs less their mean; the pulls
    of a cross-entropy sum to 0 by themselves.
    """

    products: Products
    filters: Filter
    entropy: CrossEntropy | None
    reg: Array
    codes: Array
    tol: float
    biased: bool

    def solve(self) -> tuple[Array, Array]:
        """Dual variables, points times labelled nodes times codes, and duality gaps, of the points of finite `reg`."""
        duals = np.zeros((self.reg.size, *self.codes.shape))
        gap = np.zeros(self.reg.size)
        groups = groups_by_filter(self.filters, np.flatnonzero(np.isfinite(self.reg)))
        groups = [
            group[np.argsort(-self.reg[group])] for group in groups
        ]  # from the strongest to the weakest
        if self.entropy is None:
            self._ridge(groups, duals)
        else:
            self._descend(groups, duals, gap, self.entropy)
        return duals, gap

    @property
    def _passes(self) -> int:
        return max(PASSES, min(len(self.codes), MAX_PASSES))

    def _ridge(self, groups: Groups, duals: Array) -> None:
        """Fill in the dual variables of the square loss: one Krylov space for each filter and code."""
        places = [group[0] for group in groups for _ in self.codes.T]
        solvers = [
            krylov(b, self.reg[group], self.tol, self._passes + 1)
            for group in groups
            for b in self.codes.T
        ]
        found = iter(self._together(solvers, places))
        for group in groups:
            columns = [self._settled(next(found)) for _ in self.codes.T]
            duals[group] = np.stack(columns, axis=-1)

    def _descend(self, groups: Groups, duals: Array, gap: Array, entropy: CrossEntropy) -> None:
        """Fill in the dual variables and the gaps of a cross-entropy, each `reg` from where the last ended."""
        last: dict[int, Descent] = {}
        for step in range(max(map(len, groups), default=0)):
            running = {k: group[step] for k, group in enumerate(groups) if step < len(group)}
            solvers = [
                descent(
                    entropy,
                    float(self.reg[point]),
                    self.codes.shape,
                    self.tol,
                    self._passes,
                    last.get(k),
                )
                for k, point in running.items()
            ]
            found = self._together(solvers, list(running.values()))
            for (k, point), (answer, settled) in zip(running.items(), found, strict=True):
                last[k] = self._settled(answer if settled else None)
                duals[point] = last[k].beta
                gap[point] = last[k].gap

    def _settled(self, answer: T | None) -> T:
        if answer is None:
            raise ConvergenceError(
                f"the training did not converge in {self._passes} passes over the features; raise reg"
            )
        return answer

    def _together(self, solvers: list[Generator[Array, Array, T]], places: list[Any]) -> list[T]:
        """Answers of solvers, each at the place of its filter; those that still run share a pass over the features."""
        answers: dict[int, T] = {}
        wanted = {k: next(solver) for k, solver in enumerate(solvers)}
        while wanted:
            blocks = [block.reshape(len(block), -1) for block in wanted.values()]
            widths = [block.shape[1] for block in blocks]
            filters = self.filters[np.repeat([places[k] for k in wanted], widths)]
            found = self._centred(self.products.gram(np.concatenate(blocks, axis=1), filters))
            for k, product in zip(
                [*wanted], np.split(found, np.cumsum(widths)[:-1], axis=1), strict=True
            ):
                try:
                    wanted[k] = solvers[k].send(product.reshape(wanted[k].shape))
                except StopIteration as ended:
                    answers[k] = ended.value
                    del wanted[k]
        return [answers[k] for k in range(len(solvers))]

    def _centred(self, outputs: Array) -> Array:
        return outputs - outputs.mean(axis=0) if self.biased and self.entropy is None else outputs

    def check_residual(self, duals: Array, outputs: Block) -> None:
        r"""Refuse :math:`|K\beta + r\beta - Y|` that rounding left too large for :math:`|Y|`; the outputs are :math:`K\beta`."""
        for k in np.flatnonzero(np.isfinite(self.reg)):
            residual = self._centred(outputs[k]) + self.reg[k] * duals[k] - self.codes
            left = np.linalg.norm(residual) / np.linalg.norm(self.codes)
            if not left <= max(10.0 * self.tol, ROUNDING):
                other = ", or use dtype = 'float64'" if self.products.dtype.itemsize == 4 else ""
                raise ConvergenceError(
                    f"the training at reg = {self.reg[k]:g} stopped at a residual of {left:.1e}; raise reg{other}"
                )


def train_by_products(  # noqa: PLR0917
    products: Products,
    filters: Filter,
    entropy: CrossEntropy | None,
    reg: Array,
    codes: Array,
    tol: float,
    *,
    biased: bool,
) -> tuple[Block, Block, Block, Array]:
    r"""Networks at each pair of a filter and a `reg`, trained on the `codes` of the labelled nodes.

    Weights, points times :math:`M` times codes; outputs and :math:`Xw/\sqrt N` on all nodes; duality gaps.

    Without `entropy` the loss is the square loss, which solves :math:`(K + r)\beta = Y` in the Krylov space that all `reg`
    share; a cross-entropy descends, from the strongest `reg` to the weakest, each from where the last ended. All filters share
    the passes. If `biased`, there is a free bias, and the codes have mean 0.
    """
    points = _Points(
        products, filters, entropy, reg, codes, max(tol, FINEST[products.dtype.itemsize]), biased
    )
    duals, gap = points.solve()
    explicit, rest = (np.flatnonzero(where) for where in (np.isinf(reg), np.isfinite(reg)))
    order = np.concatenate([explicit, rest])
    count = codes.shape[1]
    parts = [products.spread_alike(codes, filters[explicit])] if explicit.size else []
    if rest.size:
        columns = np.concatenate(list(duals[rest] * reg[rest, None, None]), axis=1)
        parts.append(products.spread(columns, filters[np.repeat(rest, count)]))
    blocks = products.forward(products.backend.join(parts, 1), filters[np.repeat(order, count)])
    scale = np.where(np.isinf(reg), 1.0, 1.0 / reg)[order]
    weights, outputs, signal = (_by_point(block, order, count, scale) for block in blocks)
    if entropy is None:
        points.check_residual(duals, outputs[:, products.train_mask])
    return weights, outputs, signal, gap


def _by_point(block: Block, order: npt.NDArray[np.intp], count: int, scale: Array) -> Block:
    """Columns as points times rows times codes, in the order of the points."""
    parts = np.moveaxis(block.reshape(len(block), order.size, count), 0, 1) * scale[
        :, None, None
    ].astype(block.dtype)
    return np.asarray(parts[np.argsort(order)])
