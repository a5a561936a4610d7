"""The suite as a data set of PyTorch Geometric."""

import numpy as np
import pytest

import gcnlimit as gl

pytest.importorskip("torch_geometric")

from gcnlimit.pyg import CSBMBenchmark


@pytest.mark.filterwarnings("ignore")  # of PyTorch and its Geometric
def test_dataset_is_the_task(tmp_path):
    dataset = CSBMBenchmark(str(tmp_path), "heterophily", size="small", graphs=1)
    data, problem = dataset[0], gl.benchmark.problems()[2]
    task = problem.task("small")
    assert dataset.exact == problem.exact
    assert np.array_equal(data.x.numpy(), task.features)
    assert np.array_equal(data.y.numpy()[task.labelled_mask], task.labels[task.labelled_mask])
    assert np.array_equal(data.test_mask.numpy(), task.test_mask)
    assert data.edge_index.shape[1] == task.adjacency.nnz
    for wrong in ({"size": "tiny"}, {"graphs": 0}):
        with pytest.raises(gl.ParameterError, match="is not allowed"):
            CSBMBenchmark(str(tmp_path), "heterophily", **wrong)
