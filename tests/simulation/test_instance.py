import dataclasses

import numpy as np
import pytest

import gcnlimit as gl


def test_the_same_seed_gives_the_same_instance_and_another_seed_another(data):
    one, two, other = (gl.sample(data, nodes=300, degree=10, seed=s) for s in (4, 4, 5))
    assert (one.adjacency != two.adjacency).nnz == 0
    assert np.array_equal(one.features, two.features)
    assert not np.array_equal(one.features, other.features)
    assert (one.adjacency != other.adjacency).nnz > 0


def test_streamed_and_stored_features_agree(data):
    stored, streamed = (gl.sample(data, nodes=300, degree=10, seed=4, streamed=s) for s in (False, True))
    assert np.array_equal(stored.features, np.asarray(streamed.features))


def test_only_the_labelled_nodes_are_observed(instance):
    observed = instance.observation
    assert np.array_equal(observed.train_labels[instance.train_mask], instance.labels[instance.train_mask])
    assert not observed.train_labels[~instance.train_mask].any()
    assert not {"labels", "centroid"} & {f.name for f in dataclasses.fields(observed)}


def test_features_carry_the_spike():
    i = gl.sample(gl.CSBM(alpha=2, lam=0.5, mu=4.0, rho=0.1), nodes=2000, degree=10, seed=0)
    u = i.latents.centroid
    overlap = i.labels @ i.features @ u / (np.sqrt(4.0 * 2000) * (u @ u))
    assert abs(overlap - 1) < 4 / np.sqrt(4.0 * (u @ u))


@pytest.mark.parametrize("directed", [True, False])
def test_networkx(directed):
    nx = pytest.importorskip("networkx")
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, directed=directed), nodes=200, degree=10, seed=0)
    graph = gl.real.to_networkx(i.to_dataset())
    assert graph.is_directed() == directed
    assert (nx.to_scipy_sparse_array(graph) != i.to_dataset().graph).nnz == 0
    assert np.array_equal(gl.real.from_networkx(graph).y, i.data.classes.index_of(i.labels))
    assert [train for _, train in graph.nodes(data="train")] == i.train_mask.tolist()


def test_pyg(instance):
    pytest.importorskip("torch_geometric")
    graph = gl.real.to_pyg(instance.to_dataset())
    assert graph.edge_index.shape[1] == instance.to_dataset().graph.nnz
    assert np.array_equal(graph.y.numpy(), instance.data.classes.index_of(instance.labels))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"degree": 0.5}, "at most 0.707"),
        ({"degree": 1e6}, "degree"),
        ({"degree": 0}, "degree"),
        ({"nodes": 1}, "nodes"),
        ({"nodes": 10.5}, "nodes"),
        ({"seed": -1}, "seed"),
        ({"dtype": np.int32}, "dtype"),
        ({"streamed": 1}, "streamed"),
        ({"dtype": "abc"}, "dtype = 'abc' is not allowed"),
        ({"degree": [5.0]}, "degree"),
        ({"degree": 5e-324}, "degree"),
        ({"nodes": 10**30}, "nodes"),
    ],
)
def test_bad_parameters_are_named(data, change, message):
    with pytest.raises(gl.ParameterError, match=message):
        gl.sample(data, **({"nodes": 1000, "degree": 30, "seed": 0} | change))


def test_one_instance_has_single_parameters():
    with pytest.raises(gl.ParameterError, match="shape"):
        gl.sample(gl.CSBM(alpha=4, lam=[1.0, 2.0], mu=2.0, rho=0.1), nodes=100, degree=10)


def test_memory_is_asked_for_beforehand(monkeypatch):
    """What is refused at one bound is drawn at a higher one; streamed features need less."""
    data = gl.CSBM(alpha=0.1, lam=1.0, mu=2.0, rho=0.1)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "0.02")
    with pytest.raises(gl.ParameterError, match=r"needs about 0\.08\d+ GB of memory, of 0\.02 GB .* streamed=True"):
        gl.sample(data, nodes=1000, degree=10)
    gl.sample(data, nodes=1000, degree=10, streamed=True)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "1")
    gl.sample(data, nodes=1000, degree=10)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "much")
    with pytest.raises(gl.ParameterError, match="GCNLIMIT_MEMORY = 'much'"):
        gl.sample(data, nodes=1000, degree=10)


@pytest.mark.parametrize("degree", [10, None])
@pytest.mark.parametrize("change", [{"nodes": 10**9}, {"alpha": 1e-9}, {"alpha": 1e-300}, {"alpha": 1e-320}])
def test_what_no_machine_holds_is_refused_at_once(change, degree):
    data = gl.CSBM(alpha=change.get("alpha", 4), lam=1.0, mu=2.0, rho=0.1)
    for streamed in (False, True):
        size = {"nodes": change.get("nodes", 1000), "degree": degree, "streamed": streamed}
        for call in (lambda: gl.sample(data, **size), lambda: gl.simulate(data, gl.GCN(gl.Diffusion(1.0)), **size)):  # noqa: B023
            with pytest.raises(gl.ParameterError, match=r"needs about .* GB of memory"):
                call()


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e155, 1e200, 1e308])
@pytest.mark.parametrize("name", ["lam", "mu", "reg", "t"])
def test_extremes_are_answered_or_refused_without_a_warning(size, name):
    values = {"lam": 1.0, "mu": 2.0, "reg": 1.0, "t": 1.0} | {name: size}
    data = gl.CSBM(alpha=4, lam=values["lam"], mu=values["mu"], rho=0.2)
    for loss in ("square", "logistic", "hinge"):
        for dtype, degree in (("float64", None), ("float32", 10)):
            try:
                instance = gl.sample(data, 60, degree, dtype=dtype)
                measured = gl.fit(instance, gl.GCN(gl.Diffusion(values["t"]), loss, values["reg"])).performance
                assert gl.amp(instance).performance.test_accuracy >= 0.5
            except gl.GCNLimitError:
                continue
            assert all(np.isfinite(value) or field == "log_test_error" for field, value in measured.as_dict().items())
            assert measured.train_accuracy > 0.5
