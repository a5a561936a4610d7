"""Long lists of problems, a part at a time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

__all__ = ["batches"]


def batches(count: int, size: int) -> Iterator[npt.NDArray[np.intp]]:
    """Numbers from 0 to ``count - 1`` in runs of at most `size`.

    >>> [b.tolist() for b in batches(5, 2)]
    [[0, 1], [2, 3], [4]]
    """
    for start in range(0, count, size):
        yield np.arange(start, min(start + size, count))
