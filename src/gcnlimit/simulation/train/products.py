r"""Training rows :math:`F = [g(a) X/\sqrt N]_R`, and training by products alone where they are not held.

Features that are not stored, or lie on a device, are only multiplied. With dual variables :math:`\beta`, the weights are
:math:`w = F^T \beta` and the outputs on the labelled nodes :math:`h = K\beta` with :math:`K = FF^T`. A product with :math:`K`
takes one pass over the features, for the columns of several networks at once. At infinite regularization :math:`\beta` are the
codes of the labels, and one pass makes weights and outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.threads import over_blocks
from gcnlimit._values import Array
from gcnlimit.errors import ConvergenceError
from gcnlimit.filters import Filter
from gcnlimit.filters.action import WIDTH, Block, column_blocks
from gcnlimit.simulation.backend import Device, backend_of
from gcnlimit.simulation.data.features import Features, one_pass, streamed
from gcnlimit.simulation.data.observation import Observation
from gcnlimit.simulation.data.operator import Operator
from gcnlimit.simulation.data.size import PROPAGATED_AT_ONCE
from gcnlimit.simulation.train.descent import CrossEntropy, Solver, descent, krylov, krylov_function
from gcnlimit.training import Training

PointIndex = npt.NDArray[np.intp]
T = TypeVar("T")
ROWS_AT_ONCE = 1 << 26  # numbers: the training rows of several filters held together
PASSES = 500  # of one training, at most
MAX_PASSES = 5000  # of one with as many labelled nodes, whose Krylov space is then whole
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


def groups_by_filter(filters: Filter, points: PointIndex) -> list[PointIndex]:
    """Points that have the same filter."""
    if not points.size:
        return []
    values = filters.values[points].reshape(points.size, -1)
    which = np.unique(values, axis=0, return_inverse=True)[1].ravel()
    return [points[which == k] for k in range(which.max() + 1)]


def rows_by_filter(
    observation: Observation, operator: Operator, filters: Filter, points: PointIndex
) -> Iterator[tuple[PointIndex, Array]]:
    """Points that have the same filter, and its training rows."""
    groups = groups_by_filter(filters, points)
    # several filters share the products with the graph, as many as the memory holds
    size = int(observation.train_mask.sum()) * observation.features.shape[1]
    at_once = max(1, ROWS_AT_ONCE // size)
    for start in range(0, len(groups), at_once):
        chunk = groups[start : start + at_once]
        distinct = filters[np.array([group[0] for group in chunk])]
        rows = training_rows(observation, operator, distinct)
        for group, F in zip(chunk, rows, strict=True):
            yield group, np.asarray(F, float)


def _backward(observation: Observation, operator: Operator, filters: Filter, out: Block) -> None:
    X = observation.features
    labelled = np.flatnonzero(observation.train_mask)
    # wide blocks, whose product with the features is faster; one for features that are drawn anew
    one_width = math.prod(filters.shape) * observation.nodes * WIDTH
    width = WIDTH * max(1, PROPAGATED_AT_ONCE // one_width)
    for part in column_blocks(labelled.size, labelled.size if streamed(X) else width):
        indicators = np.zeros((observation.nodes, part.stop - part.start), X.dtype)
        indicators[labelled[part], np.arange(indicators.shape[1])] = 1.0
        propagated = filters.apply(operator.T, indicators, radius=operator.radius)
        for block, rows in zip(propagated, out[:, part], strict=True):
            _multiply(block, X, rows)


def _multiply(propagated: Block, X: Features, out: Block) -> None:
    r"""Product :math:`B^T X`, some features at a time."""
    if not isinstance(X, np.ndarray):
        out[...] = (X.T @ propagated).T
        return

    def multiply_part(part: slice) -> None:
        np.matmul(propagated.T, X[:, part], out=out[:, part])

    pieces = 4  # alike, so that no thread waits for another
    over_blocks(multiply_part, column_blocks(X.shape[1], math.ceil(X.shape[1] / pieces)), X.size)


def _forward(observation: Observation, operator: Operator, filters: Filter, out: Block) -> None:
    X = np.asarray(observation.features)
    radius = operator.radius

    def propagate_part(part: slice) -> None:
        propagated = filters.apply(operator, X[:, part], radius=radius)
        out[:, :, part] = propagated[:, observation.train_mask]

    over_blocks(propagate_part, column_blocks(X.shape[1]), X.size)


class Products:
    """Products with an operator and with features, which are placed on a device if they are stored."""

    def __init__(self, observation: Observation, operator: Operator, device: Device) -> None:
        X: Any = observation.features
        self.operator = operator
        self.train_mask = observation.train_mask
        self.dtype = X.dtype
        self.backend = backend_of(device)
        self.features = X if streamed(X) else self.backend.place(X)

    def gram(self, block: Array, filters: Filter) -> Array:
        r"""Product :math:`K B`, each column with its own filter."""
        sizes = np.linalg.norm(block, axis=0)  # so that nothing underflows in single precision
        sizes[sizes == 0.0] = 1.0
        _, outputs, _ = self.forward(self.spread(block / sizes, filters), filters)
        return np.asarray(outputs[self.train_mask] * sizes, np.float64)

    def spread(self, block: Array, filters: Filter, alike: bool = False) -> Any:
        r"""Labelled nodes propagated backwards, :math:`g(a)^T R^T B`, each column with its own filter.

        If `alike`, all filters act on the whole block, and share the products with the graph; filter after filter.
        """
        whole = np.zeros((len(self.train_mask), block.shape[1]), self.dtype)
        whole[self.train_mask] = block
        act = filters.apply if alike else filters.apply_each
        propagated = act(self.operator.T, self.backend.place(whole), radius=self.operator.radius)
        return self.backend.join(list(propagated), 1) if alike else propagated

    def forward(self, spread: Any, filters: Filter) -> tuple[Block, Block, Block]:
        r"""Weights :math:`w = X^T B/\sqrt N`, outputs :math:`g(a) X w/\sqrt N`, and :math:`Xw/\sqrt N`: one pass."""
        unit = 1.0 / math.sqrt(len(self.train_mask))
        weights, signal = one_pass(self.features, spread * unit)
        signal = signal * unit
        outputs = filters.apply_each(self.operator, signal, radius=self.operator.radius)
        return self.backend.host(weights), self.backend.host(outputs), self.backend.host(signal)


@dataclass(frozen=True, eq=False)
class TrainingByProducts:
    r"""Networks to be trained, a filter and a `reg` at each point, on the `codes` :math:`Y` of the labelled nodes.

    Without `entropy` the loss is the square loss, which solves :math:`(K + r)\beta = Y` in the Krylov space that all `reg`
    share, or takes another function of :math:`K + r` there if the `training` stops. A cross-entropy descends, from the strongest
    `reg` to the weakest, each from where the last ended. All filters share the passes. If `biased`, there is a free bias, and
    the codes and dual variables have mean 0: the Krylov spaces are those of the outputs less their mean, while the pulls of a
    cross-entropy sum to 0 by themselves.
    """

    products: Products
    filters: Filter
    entropy: CrossEntropy | None
    reg: Array
    codes: Array
    tol: float
    biased: bool
    training: Training | None = None

    def train(self) -> tuple[Block, Block, Block, Array]:
        r"""Weights, points x :math:`M` x codes; outputs and :math:`Xw/\sqrt N` on all nodes; duality gaps."""
        duals, gap = self._solve()
        # points of infinite reg need no solver, only the last pass: they are put first
        explicit = np.flatnonzero(np.isinf(self.reg))
        rest = np.flatnonzero(np.isfinite(self.reg))
        order = np.concatenate([explicit, rest])
        count = self.codes.shape[1]
        # dual variables fall as 1/reg: scaled up, they do not underflow in single precision
        size = np.where(np.isinf(self.reg) | (self.training is not None), 1.0, self.reg)

        # the dual variables of all points, propagated; at infinite reg they are the codes
        parts = []
        if explicit.size:
            parts.append(self.products.spread(self.codes, self.filters[explicit], alike=True))
        if rest.size:
            columns = np.concatenate(list(duals[rest] * size[rest, None, None]), axis=1)
            parts.append(self.products.spread(columns, self.filters[np.repeat(rest, count)]))
        spread = self.products.backend.join(parts, 1)

        # one pass, then points first, in their own order
        blocks = self.products.forward(spread, self.filters[np.repeat(order, count)])
        scale = (1.0 / size)[order, None, None]
        shaped = (np.moveaxis(x.reshape(len(x), order.size, count), 0, 1) for x in blocks)
        back = np.argsort(order)
        weights, outputs, signal = ((x * scale.astype(x.dtype))[back] for x in shaped)
        if self.entropy is None and self.training is None:
            self._check_residual(duals, outputs[:, self.products.train_mask])
        return weights, outputs, signal, gap

    def _solve(self) -> tuple[Array, Array]:
        """Dual variables, points x labelled nodes x codes, and duality gaps, of the points of finite `reg`."""
        duals = np.zeros((self.reg.size, *self.codes.shape))
        gap = np.zeros(self.reg.size)
        solvers = []
        for group in groups_by_filter(self.filters, np.flatnonzero(np.isfinite(self.reg))):
            # a weaker regularization starts where the stronger one ended
            points = group[np.argsort(-self.reg[group])]
            if self.entropy is None:
                of_filter = [self._ridge(points, k, duals) for k in range(self.codes.shape[1])]
            else:
                of_filter = [self._descend(points, self.entropy, duals, gap)]
            solvers += [(points[0], solver) for solver in of_filter]
        self._run(solvers)
        return duals, gap

    def _ridge(self, points: PointIndex, code: int, duals: Array) -> Solver[None]:
        """Fill in the dual variables of one filter and code, all `reg` from one Krylov space."""
        b = self.codes[:, code]
        reg = self.reg[points]
        if self.training is None:
            solutions = yield from krylov(b, reg, self._tol, self._passes + 1)
        else:
            training = self.training[points]
            solutions = yield from krylov_function(
                b, lambda x: training.learned(x + reg[:, None]), self._tol, self._passes + 1
            )
        duals[points, :, code] = self._settled(solutions)

    def _descend(
        self, points: PointIndex, loss: CrossEntropy, duals: Array, gap: Array
    ) -> Solver[None]:
        """Fill in the dual variables and gaps of one filter, each `reg` from where the last ended."""
        last = None
        for point in points:
            solver = descent(loss, float(self.reg[point]), self._tol, self._passes, last)
            end, settled = yield from solver
            last = self._settled(end if settled else None)
            duals[point] = last.beta
            gap[point] = last.gap

    @property
    def _tol(self) -> float:
        return max(self.tol, FINEST[self.products.dtype.itemsize])

    @property
    def _passes(self) -> int:
        return max(PASSES, min(len(self.codes), MAX_PASSES))

    def _settled(self, answer: T | None) -> T:
        if answer is None:
            passes = f"{self._passes} passes over the features"
            raise ConvergenceError(f"the training did not converge in {passes}; raise reg")
        return answer

    def _run(self, solvers: list[tuple[np.intp, Solver[None]]]) -> None:
        """Run solvers, each with the point of its filter; those that are not done share a pass over the features."""
        wanted = {k: next(solver) for k, (_, solver) in enumerate(solvers)}
        while wanted:
            # a pass over the features is the cost, not its width: all that wait go in one
            blocks = [block.reshape(len(block), -1).astype(float) for block in wanted.values()]
            widths = [block.shape[1] for block in blocks]
            filters = self.filters[np.repeat([solvers[k][0] for k in wanted], widths)]
            products = self._centred(self.products.gram(np.concatenate(blocks, axis=1), filters))
            parts = np.split(products, np.cumsum(widths)[:-1], axis=1)
            for k, product in zip([*wanted], parts, strict=True):
                try:
                    wanted[k] = solvers[k][1].send(product.reshape(wanted[k].shape))
                except StopIteration:
                    del wanted[k]

    def _centred(self, outputs: Array) -> Array:
        return outputs - outputs.mean(axis=0) if self.biased and self.entropy is None else outputs

    def _check_residual(self, duals: Array, outputs: Block) -> None:
        r"""Refuse :math:`|K\beta + r\beta - Y|` that rounding left too large for :math:`|Y|`; the outputs are :math:`K\beta`."""
        for k in np.flatnonzero(np.isfinite(self.reg)):
            residual = self._centred(outputs[k]) + self.reg[k] * duals[k] - self.codes
            left = np.linalg.norm(residual) / np.linalg.norm(self.codes)
            if not left <= max(10.0 * self._tol, ROUNDING):
                other = ", or use dtype = 'float64'" if self.products.dtype.itemsize == 4 else ""
                stopped = f"the training at reg = {self.reg[k]:g} stopped at residual {left:.1e}"
                raise ConvergenceError(f"{stopped}; raise reg{other}")
