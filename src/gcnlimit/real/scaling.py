"""How features are scaled before they are propagated."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from gcnlimit._values import Array
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.check import column_spread, is_sparse, squared


class Scaling(NamedTuple):
    r"""Rows of unit norm, columns of mean 0 and variance 1, or features as they are.

    Parameters
    ----------
    how
        ``"rows"``, ``"columns"`` or None.
    mean, spread
        Mean and standard deviation of each column; 0 and 1 where a column is not centred or is constant.

    Examples
    --------
    >>> Scaling.of(np.eye(3), "auto").how, Scaling.of(np.ones((3, 2)), "auto").how
    ('rows', 'columns')
    >>> Scaling.of(np.eye(2), "rows")(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """

    how: str | None
    mean: Array
    spread: Array

    @classmethod
    def of(cls, X: Any, how: str | None) -> Scaling:
        """Scaling of these features; ``"auto"`` takes rows if most features are 0, as counts of words are, else columns.

        The columns of a sparse matrix are not centred, so that it remains sparse.
        """
        if how not in ("auto", "rows", "columns", None):
            raise ParameterError(f"scale = {how!r} is not allowed; use 'auto', 'rows', 'columns' or None")
        if how == "auto":
            filled = X.count_nonzero() if is_sparse(X) else np.count_nonzero(X)
            how = "rows" if filled <= 0.5 * X.shape[0] * X.shape[1] else "columns"
        mean, spread, varies = column_spread(X)
        return cls(how, np.zeros_like(mean) if is_sparse(X) else mean, np.where(varies, spread, 1.0))

    def __call__(self, X: Any) -> Any:
        """Scaled features."""
        if self.how is None:
            return X
        if self.how == "rows":
            norms = np.sqrt(np.asarray(squared(X).sum(axis=1)).ravel())
            factor = 1.0 / np.where(norms > 0, norms, 1.0)
            return (sparse.diags_array(factor) @ X).tocsr() if is_sparse(X) else X * factor[:, None]
        if is_sparse(X):
            return (X @ sparse.diags_array(1.0 / self.spread)).tocsr()
        return (X - self.mean) / self.spread
