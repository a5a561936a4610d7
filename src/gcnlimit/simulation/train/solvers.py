r"""Convex training of the weights on given training rows.

Minimize :math:`\sum_i \ell(z_i) + \frac r2 |w|^2` (Eq. 1.4) with margins :math:`z = Z w`, :math:`Z = \mathrm{diag}(y) F` the
signed training rows, in the cheaper of two forms: dual, with the Gram matrix :math:`ZZ^T`, if there are fewer rows than columns,
and primal, with :math:`Z^TZ`, otherwise. Both use the same dual variables :math:`f_i = -\ell'(z_i)`, with
:math:`w = Z^T f/r`, so that :math:`z = \mathcal K f` with the kernel :math:`\mathcal K = ZZ^T/r`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from gcnlimit._values import Array
from gcnlimit.losses import Loss
from gcnlimit.simulation.data.features import Block
from gcnlimit.simulation.train.descent import ROUNDING, driven, krylov
from gcnlimit.training import END, Training

TOLERANCE = 1e-10
"""Optimality at which the training stops by default; see `gcnlimit.fit`."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    r"""Signed training rows :math:`Z`, rows times columns, and what is shared by all losses and regularizations."""

    Z: Array

    @cached_property
    def dual(self) -> bool:
        """Whether there are fewer rows than columns."""
        return bool(self.Z.shape[0] <= self.Z.shape[1])

    @cached_property
    def size(self) -> float:
        """Mean square norm of the rows."""
        return float(np.vdot(self.Z, self.Z) / self.Z.shape[0])

    @cached_property
    def gram(self) -> Array:
        """Smaller of the two Gram matrices."""
        return np.asarray(self.Z @ self.Z.T if self.dual else self.Z.T @ self.Z)

    def ridge(
        self,
        reg: Array,
        tol: float = TOLERANCE,
        targets: Array | None = None,
        training: Training | None = None,
    ) -> Array:
        r"""Weights of the square loss for every `reg`, one row each, from one Krylov space or one diagonalization.

        :math:`w = Z^T (ZZ^T + r)^{-1} y = (Z^TZ + r)^{-1} Z^T y`, with the `targets` :math:`y`, 1 for signed rows. A
        `training` with a parameter for each `reg` has its own function in place of the inverse (Eq. 13.1).

        >>> Z = np.array([[1.0, 2.0, 0.5], [0.0, 1.0, -1.0]])
        >>> w = TrainingRows(Z).ridge(np.array([0.1, 1.0]))
        >>> np.allclose(Z.T @ (Z @ w[1] - 1.0) + 1.0 * w[1], 0.0)
        True
        """
        targets = np.ones(self.Z.shape[0]) if targets is None else targets
        # both forms solve (G + r) x = target with the smaller Gram matrix G
        target = targets if self.dual else targets @ self.Z
        with np.errstate(over="ignore", invalid="ignore"):
            solution = self._in_krylov_space(target, reg, tol) if training is None else None
        if solution is None:
            values, vectors = self._spectrum
            shifts = reg[:, None]
            with np.errstate(divide="ignore"):
                parts = (training or END).learned(np.maximum(values, 0.0) + shifts)
            parts = vectors.T @ target * parts
            # in a null space noise over `reg` would be all
            rounding = ROUNDING * values.size * values[-1]
            lost = (values <= rounding) & (shifts < rounding)
            solution = np.where(lost, 0.0, parts) @ vectors.T
        return np.asarray(solution @ self.Z if self.dual else solution)

    def _in_krylov_space(self, target: Array, reg: Array, tol: float) -> Array | None:
        """Solutions if the true residual of the slowest is small enough, after fewer steps than a diagonalization costs."""
        solutions = driven(krylov(target, reg, tol, target.size // 5), self._product)
        if solutions is None:
            return None
        slowest = solutions[np.argmin(reg)]
        # rounding in single precision does not show in the recurrence: look at the true residual
        left = np.linalg.norm(self._product(slowest) + np.min(reg) * slowest - target)
        return solutions if left <= tol * np.linalg.norm(target) else None

    @cached_property
    def _spectrum(self) -> tuple[Array, Array]:
        """Eigenvalues and eigenvectors of the Gram matrix."""
        return eigh(self.gram, driver="evd")

    def kernel(self, v: Block) -> Block:
        r""":math:`ZZ^T v`, in the precision of `v`, or in double if that would overflow or underflow."""
        if v.dtype == np.float32:
            with np.errstate(over="ignore", invalid="ignore"):
                product = np.asarray(self._single @ (self._single.T @ v))
            if 1e-20 < np.max(np.abs(product)) < 1e20:
                return product
        return np.asarray(self.Z @ (self.Z.T @ v))

    def _product(self, v: Block) -> Block:
        """Smaller of the two Gram matrices times `v`, without forming it."""
        if self.dual:
            return self.kernel(v)
        Z = self._single if v.dtype == np.float32 else self.Z
        return np.asarray((Z @ v) @ Z)

    @cached_property
    def _single(self) -> Block:
        with np.errstate(over="ignore"):
            return self.Z.astype(np.float32)

    def solve(
        self, loss: Loss, reg: float, start: Array | None = None, tol: float = TOLERANCE
    ) -> tuple[Array, float, Array]:
        r"""Weights of any convex loss, their duality gap over the objective, and dual variables for a nearby problem to start.

        Newton's method on the optimality condition :math:`z = \mathrm{prox}_{v\ell}(z - vf)` solves most problems; where it does
        not, Douglas-Rachford splitting, which converges from any start, brings it closer. Stops when the duality gap is below
        `tol` times the objective, or cannot be improved.
        """
        problem = _Problem(self, loss, reg)
        f = problem.newton(np.zeros(len(self.Z)) if start is None else start)
        gap = problem.gap(f)
        patience = 10
        # Newton's method may cycle at a kink: splitting moves it on, and may fail ten times
        while gap > tol and patience:
            f = problem.newton(problem.split(f))
            before = gap
            gap = problem.gap(f)
            patience = 10 if gap < 0.5 * before else patience - 1
        return np.asarray(f @ self.Z / reg), gap, f


class _Problem:
    """One loss and regularization on given rows."""

    def __init__(self, rows: TrainingRows, loss: Loss, reg: float) -> None:
        self.rows = rows
        self.loss = loss
        self.reg = reg
        self.v = max(rows.size / reg, 1e-300)

    def margins(self, f: Array) -> Array:
        r"""Margins :math:`\mathcal K f`."""
        Z = self.rows.Z
        return np.asarray((self.rows.gram @ f if self.rows.dual else Z @ (f @ Z)) / self.reg)

    def residual(self, f: Array) -> tuple[Array, Array]:
        r""":math:`z - \mathrm{prox}(\omega)` and :math:`\omega = z - vf`."""
        z = self.margins(f)
        omega = z - self.v * f
        return z - self.loss.prox(omega, self.v), omega

    def gap(self, f: Array) -> float:
        r"""Duality gap :math:`\sum_i \ell(z_i) + z_i f_i + \ell^*(-f_i)` over the objective.

        It is that of the pulls at :math:`x = \mathrm{prox}(\omega)`, next to `f`, where Fenchel's inequality is an equality.
        """
        omega = self.margins(f) - self.v * f
        x = self.loss.prox(omega, self.v)
        # these pulls are a subgradient of the loss, so the gap bounds how far the minimum is
        f = (x - omega) / self.v
        z = self.margins(f)
        loss = self.loss.value(z)
        gap = np.sum(loss - self.loss.value(x) + f * (z - x))
        return float(abs(gap) / (np.sum(loss) + 0.5 * f @ z))

    def split(self, f: Array, steps: int = 50) -> Array:
        r"""Douglas-Rachford: alternate the proximal operators of the loss and of :math:`\frac12 z^T \mathcal K^{-1} z`."""
        rows = self.rows
        matrix = rows.gram / self.reg
        matrix[np.diag_indices_from(matrix)] += self.v
        factor = cho_factor(matrix)
        s = self.margins(f) - self.v * f
        for _ in range(steps):
            x = self.loss.prox(s, self.v)
            q = 2 * x - s
            solved = cho_solve(factor, q if rows.dual else q @ rows.Z)
            y = q - self.v * solved if rows.dual else rows.Z @ solved / self.reg
            s = s + y - x
        return np.asarray((self.loss.prox(s, self.v) - s) / self.v)

    def newton(self, f: Array) -> Array:
        """Newton's method for as long as a step, or a part of it, lowers the residual by a tenth of its length."""
        residual, omega = self.residual(f)
        size = np.linalg.norm(residual)
        for _ in range(50):
            try:
                step = self._step(residual, omega)
            except LinAlgError:
                break
            # the first of the step, a half, a quarter and an eighth of it that lowers the residual
            for fraction in (1.0, 0.5, 0.25, 0.125):
                trial = f + fraction * step
                residual, omega = self.residual(trial)
                new = np.linalg.norm(residual)
                if new < (1.0 - 0.1 * fraction) * size:
                    break
            else:
                break
            f = trial
            size = new
            if size <= 1e-15 * self.v * np.sqrt(f.size):
                break
        return f

    def _step(self, residual: Array, omega: Array) -> Array:
        r"""Solution of :math:`[(1-P)\mathcal K + vP]\,\delta = -\epsilon`, :math:`P` the derivative of the proximal operator.

        With :math:`\delta = E\eta - \epsilon/v` and :math:`E = \sqrt{1-P}`, it is the symmetric system
        :math:`[E\mathcal K E + vP]\,\eta = E(\mathcal K\epsilon/v - \epsilon)`, in which nothing is singular or cancels at
        :math:`P = 0` or 1.
        """
        rows, v = self.rows, self.v
        P = np.clip(self.loss.prox_derivative(omega, v), 1e-13 if rows.dual else 1e-9, 1.0)
        E = np.sqrt(1.0 - P)
        target = E * (self.margins(residual) / v - residual)
        # in the primal form by the identity of Woodbury: as small as the number of columns
        if rows.dual:
            matrix = rows.gram * (E[:, None] * (E / self.reg))
            matrix[np.diag_indices_from(matrix)] += v * P
            eta = cho_solve(cho_factor(matrix, overwrite_a=True), target)
        else:
            matrix = (rows.Z.T * (E**2 / (v * P))) @ rows.Z
            matrix[np.diag_indices_from(matrix)] += self.reg
            pull = cho_solve(cho_factor(matrix, overwrite_a=True), (E * target / (v * P)) @ rows.Z)
            eta = (target - E * (rows.Z @ pull)) / (v * P)
        return np.asarray(E * eta - residual / v)
