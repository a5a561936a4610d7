"""Instances: sampled, stored, and made of parts, which give the instance they come from."""

import dataclasses

import numpy as np
import pytest
from scipy import sparse

import gcnlimit as gl


def test_the_same_seed_gives_the_same_instance_and_another_seed_another(data):
    one, two, other = (gl.sample(data, nodes=300, degree=10, seed=s) for s in (4, 4, 5))
    assert (one.adjacency != two.adjacency).nnz == 0
    assert np.array_equal(one.features, two.features)
    assert not np.array_equal(one.features, other.features)
    assert (one.adjacency != other.adjacency).nnz > 0


def test_streamed_and_stored_features_agree(data):
    stored, streamed = (
        gl.sample(data, nodes=300, degree=10, seed=4, streamed=s) for s in (False, True)
    )
    assert np.array_equal(stored.features, np.asarray(streamed.features))


def test_only_the_labelled_nodes_are_observed(instance):
    observed = instance.observation
    assert np.array_equal(
        observed.train_labels[instance.train_mask], instance.labels[instance.train_mask]
    )
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
    i = gl.sample(
        gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, directed=directed), nodes=200, degree=10, seed=0
    )
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
    with pytest.raises(
        gl.ParameterError, match=r"needs about 0\.08\d+ GB of memory, of 0\.02 GB .* streamed=True"
    ):
        gl.sample(data, nodes=1000, degree=10)
    gl.sample(data, nodes=1000, degree=10, streamed=True)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "1")
    gl.sample(data, nodes=1000, degree=10)
    monkeypatch.setenv("GCNLIMIT_MEMORY", "much")
    with pytest.raises(gl.ParameterError, match="GCNLIMIT_MEMORY = 'much'"):
        gl.sample(data, nodes=1000, degree=10)


@pytest.mark.parametrize("degree", [10, None])
@pytest.mark.parametrize(
    "change", [{"nodes": 10**9}, {"alpha": 1e-9}, {"alpha": 1e-300}, {"alpha": 1e-320}]
)
def test_what_no_machine_holds_is_refused_at_once(change, degree):
    data = gl.CSBM(alpha=change.get("alpha", 4), lam=1.0, mu=2.0, rho=0.1)
    for streamed in (False, True):
        size = {"nodes": change.get("nodes", 1000), "degree": degree, "streamed": streamed}
        for call in (
            lambda: gl.sample(data, **size),  # noqa: B023
            lambda: gl.simulate(data, gl.GCN(gl.Diffusion(1.0)), **size),  # noqa: B023
        ):
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
                measured = gl.fit(
                    instance, gl.GCN(gl.Diffusion(values["t"]), loss, values["reg"])
                ).performance
                assert gl.amp(instance).performance.test_accuracy >= 0.5
            except gl.GCNLimitError:
                continue
            assert all(
                np.isfinite(value) or field == "log_test_error"
                for field, value in measured.as_dict().items()
            )
            assert measured.train_accuracy > 0.5


NETWORK = gl.GCN(gl.Diffusion(1.0))


def drawn(data, nodes, degree, seed=1):
    """A sampled graph without its self-loops, which `Instance.of` drops."""
    i = gl.sample(data, nodes=nodes, degree=degree, seed=seed)
    plain = dataclasses.replace(i.observation, adjacency=i.to_dataset().graph)
    return gl.Instance(plain, i.latents)


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
    i = drawn(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2, directed=directed), nodes=600, degree=20)
    given = parts(i) | {"adjacency": i.adjacency.asformat(form), "labels": i.labels.astype(int)}
    j = gl.Instance.of(**given, data=i.data, degree=20)
    for gcn in (
        gl.GCN(gl.Diffusion(1.0), symmetrize=True),
        gl.GCN(gl.Residual([1.0]), loss="logistic", reg=1.0, symmetrize=False),
    ):
        one, two = gl.fit(i, gcn), gl.fit(j, gcn)
        assert np.array_equal(one.outputs, two.outputs)
        assert one.performance == two.performance


@pytest.mark.parametrize("weight", [3.7, 1e-40, 1e40])
def test_the_unit_of_the_weights_plays_no_part(weight):
    i = gl.sample(gl.CSBM(alpha=4, lam=1.5, mu=2.0, rho=0.3), nodes=600, degree=30, seed=1)
    edges = i.adjacency.tocoo()
    twice = sparse.coo_array(
        (np.tile(edges.data, 2), (np.tile(edges.row, 2), np.tile(edges.col, 2))), edges.shape
    )
    plain = gl.Instance.of(**parts(i))
    for adjacency in (weight * i.adjacency, twice):
        other = gl.Instance.of(**(parts(i) | {"adjacency": adjacency}))
        assert other.data.lam == pytest.approx(plain.data.lam, rel=1e-12)
        assert np.allclose(
            gl.fit(other, NETWORK).outputs, gl.fit(plain, NETWORK).outputs, rtol=1e-9
        )


def test_the_noise_of_a_weighted_operator_has_unit_variance():
    """Over all pairs of nodes, sqrt(N) times the operator has mean 0 and variance 1, whatever the weights."""
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2), nodes=300, degree=20, seed=1)
    rng = np.random.default_rng(0)
    for weights in (rng.exponential(5.0, i.adjacency.nnz), rng.integers(1, 9, i.adjacency.nnz)):
        weighted = sparse.csr_array(
            (weights, i.adjacency.indices, i.adjacency.indptr), shape=(300, 300)
        )
        mine = gl.Instance.of(**(parts(i) | {"adjacency": weighted}))
        entries = np.sqrt(300) * (mine.observation.operator(False) @ np.eye(300))
        assert abs(entries.mean()) < 1e-12
        assert entries.var() == pytest.approx(1.0, rel=1e-12)


def test_weights_without_a_signal_dilute_that_of_the_graph():
    r"""Independent weights of mean m and square q keep a part m/sqrt(q) of the signal of a sparse graph."""
    i = gl.sample(gl.CSBM(alpha=4, lam=2.0, mu=2.0, rho=1.0), nodes=4000, degree=30, seed=1)
    weighted = i.adjacency.copy()
    weighted.data = np.random.default_rng(0).exponential(1.0, weighted.nnz)
    plain, mine = (
        gl.Instance.of(**(parts(i) | {"adjacency": A})).data.lam for A in (i.adjacency, weighted)
    )
    assert abs(mine - plain / np.sqrt(2)) < 4 / np.sqrt(4000)


def test_unknown_labels_play_no_part():
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2), nodes=400, degree=20, seed=1)
    known = i.train_mask | (np.arange(400) % 2 == 0)
    some = gl.Instance.of(**(parts(i) | {"labels": np.where(known, i.labels, np.nan)}), data=i.data)
    none = gl.Instance.of(
        **(parts(i) | {"labels": np.where(i.train_mask, i.labels, np.nan)}), data=i.data
    )
    for run in (lambda x: gl.fit(x, NETWORK), gl.amp):
        full, half, blind = run(gl.Instance.of(**parts(i), data=i.data)), run(some), run(none)
        decided = full.outputs if hasattr(full, "outputs") else full.log_odds
        right = (decided * i.labels > 0)[known & ~i.train_mask]
        assert half.performance.test_accuracy == right.mean()
        assert (
            half.performance.train_accuracy
            == full.performance.train_accuracy
            == blind.performance.train_accuracy
        )
        assert np.isnan(blind.performance.test_accuracy)


def test_unknown_labels_survive_the_disk(tmp_path):
    i = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.2), nodes=100, degree=20, seed=1)
    mine = gl.Instance.of(**(parts(i) | {"labels": np.where(i.train_mask, i.labels, np.nan)}))
    mine.save(tmp_path / "mine.npz")
    assert np.array_equal(
        gl.Instance.load(tmp_path / "mine.npz").labels, mine.labels, equal_nan=True
    )


def test_the_model_is_that_of_estimate_and_its_errors_reach_the_predictions(tmp_path):
    i = gl.sample(gl.CSBM(alpha=2, lam=1.2, mu=3.0, rho=0.2), nodes=600, degree=30, seed=1)
    seen = np.where(i.train_mask, i.labels, np.nan)
    mine = gl.Instance.of(
        i.adjacency, i.features, seen
    )  # the labelled nodes are those of known label
    found = gl.estimate(
        i.features, np.where(i.train_mask, i.labels < 0, -1), i.adjacency
    )  # +1 is the first class
    assert mine.data == found.data
    mine.save(tmp_path / "mine.npz")
    assert gl.Instance.load(tmp_path / "mine.npz").data == found.data
    for answer in (gl.predict(mine.data, NETWORK), gl.bayes_optimal(mine.data)):
        assert 0.005 < answer.standard_error.test_accuracy < 0.2


@pytest.mark.parametrize("directed", [True, False])
def test_the_model_is_estimated_from_the_labelled_nodes(directed):
    """The estimators have no bias, and see the labelled nodes only."""
    truth = gl.CSBM(alpha=2, lam=1.2, mu=3.0, rho=0.5, directed=directed)
    found = []
    for seed in range(12):
        i = gl.sample(truth, nodes=700, degree=30, seed=seed)
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
    assert np.array_equal(
        gl.fit(gl.Instance.load(tmp_path / "mine.npz"), gcn).outputs, gl.fit(mine, gcn).outputs
    )


def test_single_precision_is_kept(instance):
    single = gl.Instance.of(
        **(parts(instance) | {"features": instance.features.astype(np.float32)})
    )
    assert gl.fit(single, gl.GCN(gl.Diffusion(1.0), symmetrize=True)).outputs.dtype == np.float32


NAN = np.ones((4, 2))
NAN[2, 1] = np.nan


@pytest.mark.parametrize(
    "change, message",
    [
        (
            {"adjacency": sparse.csr_array(np.ones((4, 3)))},
            r"adjacency has shape \(4, 3\); it must be square, a row and a column for each node$",
        ),
        (
            {"adjacency": np.array([[0, 1], [1, 2], [2, 3]])},
            r"adjacency has shape \(3, 2\); .*; gcnlimit.real.from_edges reads a list of edges$",
        ),
        ({"adjacency": sparse.csr_array((4, 4))}, "adjacency joins no two nodes"),
        ({"adjacency": 1.0 - np.eye(4)}, "adjacency joins all 4 nodes alike"),
        ({"adjacency": -np.eye(4, k=1)}, "adjacency has 3 negative weights, such as -1"),
        (
            {"adjacency": sparse.csr_array(np.diag([1.0, np.inf, 1.0, 1.0]))},
            "adjacency holds NaN or infinity",
        ),
        ({"adjacency": sparse.csr_array(1j * np.eye(4))}, "adjacency has dtype complex128"),
        ({"features": np.ones((3, 2))}, "features has 3 rows but the graph has 4 nodes"),
        ({"features": np.ones(4)}, r"features has shape \(4,\)"),
        ({"features": NAN}, "features = nan at row 2, column 1"),
        ({"features": np.full((4, 2), "a")}, "features has dtype"),
        ({"labels": [0, 1, 1, 0]}, r"labels contain 0; .* -1 or \+1, or NaN where it is unknown"),
        ({"labels": ["a", "b", "a", "b"]}, "labels contain a"),
        ({"labels": [True, False, True, False]}, "labels contain True"),
        ({"labels": [1, -1, 1]}, r"labels have shape \(3,\)"),
        ({"labels": [1, np.nan, 1, np.nan]}, "labels are NaN on 1 nodes of train_mask"),
        ({"labels": [1, None, 1, 1]}, "labels contain 1"),
        ({"adjacency": "graph"}, "adjacency is str; it must be a matrix of real numbers"),
        ({"features": None}, "features = None"),
        (
            {"adjacency": sparse.csr_array(np.diag([np.longdouble("1e400")] * 4))},
            "adjacency holds NaN or infinity",
        ),
        ({"features": [[1.0], [1.0, 2.0]]}, "features must be a rectangular array"),
        ({"features": np.full((4, 2), 1e-200)}, "features reaches 1e-200, outside"),
        (
            {"features": np.full((4, 2), 1e30, np.float32)},
            r"features reaches 1e\+30, .* which float32 can square",
        ),
        (
            {"train_mask": np.array([True, False, False, False])},
            "train_mask labels 1 nodes, .* too few",
        ),
        ({"labels": [1, 1, 1, -1]}, "labels 3 nodes, of which 3 are"),
        ({"degree": [2.0]}, "degree = .* single number"),
        ({"degree": 5e-324}, "degree = 4.94066e-324"),
        ({"train_mask": [0, 1]}, r"train_mask has dtype int64 and shape \(2,\); .* np\.isin"),
        ({"train_mask": np.zeros(4, bool)}, "train_mask is False everywhere"),
        ({"degree": 0}, "degree = 0"),
        ({"degree": 4}, "degree = 4 .* below the number of nodes"),
        (
            {"data": gl.CSBM(alpha=2, lam=[1.0, 2.0], mu=1.0, rho=0.5)},
            "data = .* single parameters",
        ),
        (
            {"data": gl.CSBM(alpha=2, lam=1.0, mu=1.0, rho=0.5, directed=False)},
            "directed=False but adjacency",
        ),
    ],
)
def test_bad_parts_are_named(change, message):
    good = {
        "adjacency": sparse.csr_array(np.eye(4, k=1)),
        "features": np.ones((4, 2)),
        "labels": [1, -1, 1, -1],
        "train_mask": np.array([True, True, True, False]),
    }
    gl.Instance.of(**good)
    with pytest.raises(gl.ParameterError, match=message):
        gl.Instance.of(**(good | change))
