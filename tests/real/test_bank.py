"""Members of the bank: what leave-one-out says of them, and how much they count."""

import math

import numpy as np
import pytest

from gcnlimit.graphs.labels import Labels
from gcnlimit.graphs.lazy import Beside
from gcnlimit.numerics.leave_one_out import pair
from gcnlimit.real.bank import Fitted, Member


@pytest.mark.parametrize("classes", [2, 4])
def test_what_says_nothing_is_at_chance_and_of_two_classes_counts_less(classes):
    """Without its own label each node is one short of its class: of two classes losses say so, and outputs never do."""
    index = np.arange(8 * classes) % classes
    labels = Labels(np.arange(classes), np.arange(index.size), index)
    constant = Beside([np.ones((index.size, 1))])
    fitted = Fitted.of(Member("nothing", graph=False), constant, labels, np.ones(index.size))
    assert np.ptp(pair(fitted.left_out), axis=-1) == pytest.approx(0.0, abs=1e-12)
    if classes == 2:
        assert np.all(fitted.losses > math.log(2) + 1e-6)
    else:
        assert fitted.losses == pytest.approx(math.log(classes), abs=1e-9)
