"""An instance made of parts is the instance they come from."""

import numpy as np
import pytest
from scipy import sparse

import gcnlimit as gl


def parts(instance):
    return {
        "adjacency": instance.adjacency,
        "features": instance.features,
        "labels": instance.labels,
        "train_mask": instance.train_mask,
    }


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("form", ["csr", "coo", "csc"])
def test_the_parts_of_an_instance_give_the_same_fit(directed, form):
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2, directed=directed), nodes=600, degree=20, seed=1)
    given = parts(i) | {"adjacency": i.adjacency.asformat(form), "labels": i.labels.astype(int)}
    j = gl.Instance.of(**given, data=i.data, degree=20)
    for gcn in (
        gl.GCN(gl.Diffusion(1.0), symmetrize=True),
        gl.GCN(gl.Residual([1.0]), loss="logistic", reg=1.0, symmetrize=False),
    ):
        one, two = gl.fit(i, gcn), gl.fit(j, gcn)
        assert np.array_equal(one.outputs, two.outputs)
        assert one.performance == two.performance


def test_scaling_the_weights_of_the_edges_scales_the_uncentred_operator():
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2), nodes=300, degree=20, seed=1)
    one, two = (gl.Instance.of(**(parts(i) | {"adjacency": w * i.adjacency})) for w in (1.0, 2.0))
    first, second = (x.observation.operator(True).matrix for x in (one, two))
    assert np.allclose((second - 2.0 * first).data, 0.0)


@pytest.mark.parametrize("directed", [True, False])
def test_the_model_is_estimated_from_the_labelled_nodes(directed):
    """The estimators have no bias, and see the labelled nodes only."""
    truth = gl.CSBM(alpha=2, lam=1.2, mu=3.0, rho=0.5, directed=directed)
    found = []
    for seed in range(12):
        i = gl.sample(truth, nodes=1500, degree=30, seed=seed)
        hidden = np.where(i.train_mask, i.labels, 1.0)  # the labels of the others play no part
        data = gl.Instance.of(**parts(i)).data
        assert gl.Instance.of(**(parts(i) | {"labels": hidden})).data == data
        assert (data.alpha, data.rho, data.directed) == (2.0, 0.5, directed)
        found.append((data.lam, data.mu))
    error = np.std(found, axis=0, ddof=1) / np.sqrt(12)
    assert np.all(np.abs(np.mean(found, axis=0) - (1.2, 3.0)) < 4 * error)


def test_a_weighted_graph_survives_the_disk(tmp_path):
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2), nodes=300, degree=20, seed=1)
    weighted = i.adjacency.copy()
    weighted.data = np.random.default_rng(0).random(weighted.nnz)
    mine = gl.Instance.of(**(parts(i) | {"adjacency": weighted}))
    mine.save(tmp_path / "mine.npz")
    gcn = gl.GCN(gl.Diffusion(1.0), symmetrize=True)
    assert np.allclose(gl.fit(gl.Instance.load(tmp_path / "mine.npz"), gcn).outputs, gl.fit(mine, gcn).outputs)


def test_single_precision_is_kept(instance):
    single = gl.Instance.of(**(parts(instance) | {"features": instance.features.astype(np.float32)}))
    assert gl.fit(single, gl.GCN(gl.Diffusion(1.0), symmetrize=True)).outputs.dtype == np.float32


NAN = np.ones((4, 2))
NAN[2, 1] = np.nan


@pytest.mark.parametrize(
    "change, message",
    [
        ({"adjacency": np.ones((4, 4))}, r"adjacency .* got ndarray; write scipy\.sparse\.csr_array"),
        ({"adjacency": sparse.csr_array(np.ones((4, 3)))}, r"adjacency has shape \(4, 3\); it must be square"),
        ({"adjacency": sparse.csr_array((4, 4))}, "adjacency has 0 edges"),
        ({"adjacency": sparse.csr_array(np.ones((4, 4)))}, "adjacency has 16 edges"),
        ({"adjacency": sparse.csr_array(np.diag([1.0, np.inf, 1.0, 1.0]))}, "adjacency holds NaN or infinity"),
        ({"adjacency": sparse.csr_array(1j * np.eye(4))}, "adjacency has dtype complex128"),
        ({"features": np.ones((3, 2))}, r"features have shape \(3, 2\); .* 4 nodes"),
        ({"features": np.ones(4)}, r"features have shape \(4,\)"),
        ({"features": NAN}, "features = nan at row 2, column 1"),
        ({"features": np.full((4, 2), "a")}, "features have dtype"),
        ({"labels": [0, 1, 1, 0]}, r"labels contain 0; .* -1 or \+1: write np\.where"),
        ({"labels": ["a", "b", "a", "b"]}, "labels contain a"),
        ({"labels": [True, False, True, False]}, "labels contain True"),
        ({"labels": [1, -1, 1]}, r"labels have shape \(3,\)"),
        ({"labels": [1, -1, 1, np.nan]}, "labels contain nan"),
        ({"train_mask": [0, 1]}, r"train_mask has dtype int64 and shape \(2,\); .* np\.isin"),
        ({"train_mask": np.zeros(4, bool)}, "train_mask is False everywhere"),
        ({"degree": 0}, "degree = 0"),
        ({"degree": 4}, "degree = 4 .* below the number of nodes"),
        ({"data": gl.CSBM(alpha=2, lam=[1.0, 2.0], mu=1.0, rho=0.5)}, "data = .* single parameters"),
        ({"data": gl.CSBM(alpha=2, lam=1.0, mu=1.0, rho=0.5, directed=False)}, "directed=False but adjacency"),
    ],
)
def test_bad_parts_are_named(change, message):
    good = {
        "adjacency": sparse.csr_array(np.eye(4, k=1)),
        "features": np.ones((4, 2)),
        "labels": [1, -1, 1, -1],
        "train_mask": np.array([True, True, False, False]),
    }
    gl.Instance.of(**good)
    with pytest.raises(gl.ParameterError, match=message):
        gl.Instance.of(**(good | change))
