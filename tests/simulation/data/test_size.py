"""Memory that is asked for before anything is drawn or trained."""

import numpy as np
import pytest

from gcnlimit.simulation.data.size import Size, training_bytes


def test_each_point_of_a_training_holds_its_weights_and_outputs():
    size = Size(nodes=1000, features=250.0, degree=30.0, streamed=False, dtype=np.dtype(float))
    none, one, two = (training_bytes(size, 100.0, points, rows=False) for points in range(3))
    assert two - one == pytest.approx(one - none)
    assert one - none >= 8 * (1000 + 250)


def test_training_rows_take_memory_for_each_labelled_node():
    size = Size(nodes=1000, features=250.0, degree=30.0, streamed=False, dtype=np.dtype(float))
    few, many = (training_bytes(size, labelled, 1, rows=True) for labelled in (100.0, 200.0))
    assert many - few >= 8 * 100 * 250
    assert few > training_bytes(size, 100.0, 1, rows=False) + 8 * 100 * 250
