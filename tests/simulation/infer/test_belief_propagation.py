"""Belief propagation: exact on trees, message passing on dense graphs, better than it on sparse ones."""

import dataclasses
import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import softmax

import gcnlimit as gl
from gcnlimit.classes import Classes
from gcnlimit.results.performance import Status
from gcnlimit.simulation.infer.belief_propagation import AbsentEdges, Affinity, EdgeBeliefs

PARENTS = [0, 0, 1, 1, 2, 2, 2]  # of the nodes 1 ... 7 of a tree


def tree(directed):
    """Adjacency matrix of the tree; if `directed`, some edges go up, some down, and one both ways."""
    children = np.arange(1, len(PARENTS) + 1)
    rows, columns = (
        (children, PARENTS) if directed else ([*children, *PARENTS], [*PARENTS, *children])
    )
    adjacency = sparse.lil_array((len(PARENTS) + 1,) * 2)
    adjacency[rows, columns] = 1.0
    if directed:
        adjacency[0, 1] = 1.0
        adjacency[3, 1], adjacency[1, 3] = 0.0, 1.0
    return adjacency.tocsr()


def enumerate_classes(adjacency, odds, field, directed):
    """Marginals and partition function of all assignments of classes, each edge with its odds."""
    nodes, classes = field.shape
    marginals, pairs = (
        np.zeros(field.shape),
        np.argwhere(adjacency.toarray() if directed else np.tril(adjacency.toarray())),
    )
    for y in itertools.product(range(classes), repeat=nodes):
        weight = np.exp(field[np.arange(nodes), y].sum()) * np.prod(
            [odds[y[i], y[j]] for i, j in pairs]
        )
        marginals[np.arange(nodes), y] += weight
    total = marginals[0].sum()
    return marginals / total, total


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_with_a_given_field_marginals_and_free_entropy_are_exact_on_a_tree(directed, loops):
    """Three unequal classes; the Bethe free entropy of a tree is the logarithm of its partition function.

    A node joined to itself is one more edge between two of a class.
    """
    classes, graph = Classes.of([0.2, 0.3, 0.5]), tree(directed)
    graph = sparse.csr_array(graph + loops * sparse.diags_array(np.arange(graph.shape[0]) % 2.0))
    affinity = Affinity.of(0.9, nodes=1000, degree=5, classes=classes)
    field = np.log(classes.fractions) + np.random.default_rng(0).normal(size=(graph.shape[0], 3))
    messages = EdgeBeliefs(graph, affinity, directed, np.full(field.shape, 1 / 3))
    for _ in range(8):
        found = messages.step(field)
    odds = np.where(np.eye(3, dtype=bool), affinity.same[:, None], affinity.other)
    exact, total = enumerate_classes(graph, odds, field, directed)
    np.testing.assert_allclose(softmax(found, axis=1), exact, rtol=1e-12)
    assert np.logaddexp.reduce(found, axis=1).sum() - messages.pairs() == pytest.approx(
        np.log(total), abs=1e-12
    )


@pytest.mark.parametrize("directed", [False, True])
def test_without_features_the_posterior_is_exact_on_a_tree(directed):
    """At a vanishing density absent edges carry no evidence, and the edges of the tree are all that is known."""
    graph, degree, strength = tree(directed), 1e-9, 0.6
    data = gl.CSBM(alpha=4, lam=strength * degree**0.5, mu=0.0, rho=0.25, directed=directed)
    labels, mask = np.array([1.0, 1, -1, 1, -1, -1, 1, 1]), np.arange(8) % 4 == 3
    found = gl.belief_propagation(
        gl.Instance.of(graph, np.zeros((8, 2)), labels, mask, data=data, degree=degree)
    )
    certain = np.where(labels[:, None] == [1.0, -1.0], 0.0, -np.inf)
    field = np.where(mask[:, None], certain, np.log(0.5))
    odds = 1.0 + strength * np.array([[1.0, -1.0], [-1.0, 1.0]])
    exact, total = enumerate_classes(graph, odds, field, directed)
    assert found.status is Status.CONVERGED
    np.testing.assert_allclose(found.labels, exact @ [1.0, -1.0], atol=1e-6)
    assert found.free_entropy == pytest.approx(np.log(total) / 8, abs=1e-7)


@pytest.mark.parametrize("directed", [False, True])
def test_at_large_degree_it_is_approximate_message_passing(directed):
    """The posterior means differ as the skewness of an edge, by the inverse square root of the degree."""
    data = gl.CSBM(alpha=20, lam=0.8, mu=2.0, rho=0.2, directed=directed)

    def difference(degree):
        instance = gl.sample(data, nodes=1500, degree=degree, seed=0)
        return np.sqrt(
            np.mean(
                (
                    gl.belief_propagation(instance, tol=1e-4).labels
                    - gl.amp(instance, tol=1e-4).labels
                )
                ** 2
            )
        )

    far, near = difference(4), difference(64)
    assert near < 0.5 * far
    assert near < 0.03


@pytest.mark.parametrize(
    "degree, lam, directed",
    [(3, 1.4, False), (2, -1.2, True), pytest.param(10, 2.0, False, marks=pytest.mark.slow)],
)
def test_on_sparse_graphs_it_beats_message_passing(degree, lam, directed):
    data = gl.CSBM(alpha=20, lam=lam, mu=1.0, rho=0.1, directed=directed)
    graphs = [gl.sample(data, nodes=2000, degree=degree, seed=k) for k in range(8)]
    gains = [
        gl.amp(i, tol=1e-3).performance.test_loss
        - gl.belief_propagation(i, tol=1e-3).performance.test_loss
        for i in graphs
    ]
    assert np.mean(gains) > 4 * np.std(gains, ddof=1) / np.sqrt(len(gains))


def test_posterior_is_calibrated_and_certain_on_labelled_nodes():
    instance = gl.sample(gl.CSBM(alpha=20, lam=1.0, mu=2.0, rho=0.1), nodes=4000, degree=4, seed=0)
    found, mask = gl.belief_propagation(instance, tol=1e-4), instance.train_mask
    assert np.array_equal(found.labels[mask], instance.labels[mask])
    assert np.all(np.isinf(found.log_odds[mask]))
    hidden = found.labels[~mask]
    surprise = (
        hidden**2 - hidden * instance.labels[~mask]
    )  # of mean 0 under the posterior, and uncorrelated but for the features
    assert abs(surprise.mean()) < 4 * surprise.std() / np.sqrt(hidden.size)


def test_hidden_labels_do_not_matter_and_classes_may_be_exchanged():
    instance = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), nodes=500, degree=4, seed=0)
    found = gl.belief_propagation(instance)
    blind = gl.belief_propagation(instance.observation)
    assert blind.performance is None
    assert np.array_equal(blind.labels, found.labels)
    flipped = dataclasses.replace(
        instance.observation, train_labels=-instance.observation.train_labels
    )
    np.testing.assert_allclose(gl.belief_propagation(flipped).labels, -found.labels, atol=1e-4)


@pytest.mark.parametrize("data", [gl.CSBM(4, 1.0, 2.0, 0.1), gl.CSBM(4, 0.5, 6.0, 0.1, classes=3)])
def test_strong_damping_of_strong_features_reaches_the_same_fixed_point(data):
    instance = gl.sample(data, nodes=300, degree=8, seed=1)
    plain, damped = (
        gl.belief_propagation(instance),
        gl.belief_propagation(instance, damping=0.9, max_iterations=2000),
    )
    assert damped.status == gl.Status.CONVERGED
    np.testing.assert_allclose(damped.labels, plain.labels, atol=1e-4)


@pytest.mark.parametrize("infer", [gl.amp, gl.belief_propagation])
def test_a_step_made_small_by_damping_is_not_convergence(infer):
    instance = gl.sample(gl.CSBM(4, 1.0, 2.0, 0.1), nodes=300, degree=8, seed=1)
    damped = infer(instance, damping=0.99, tol=1e-3)
    assert damped.status == gl.Status.NOT_CONVERGED or np.allclose(
        damped.labels, infer(instance).labels, atol=0.05
    )
    with pytest.raises(
        gl.ParameterError, match=r"damping = 1 is not allowed; it must be in \[0, 0.99\]"
    ):
        infer(instance, damping=1.0)


def test_damping_changes_the_way_and_not_the_answer():
    instance = gl.sample(gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1), nodes=500, degree=5, seed=0)
    plain, damped = gl.belief_propagation(instance), gl.belief_propagation(instance, damping=0.3)
    assert damped.iterations != plain.iterations
    np.testing.assert_allclose(damped.labels, plain.labels, atol=1e-4)
    assert damped.free_entropy == pytest.approx(plain.free_entropy, abs=1e-6)


def test_a_dense_graph_a_signal_beyond_the_degree_and_negative_weights_are_refused():
    data = gl.CSBM(alpha=4, lam=1.0, mu=1.0, rho=0.1)
    with pytest.raises(gl.ParameterError, match="take amp"):
        gl.belief_propagation(gl.sample(data, nodes=50, degree=None))
    i = gl.sample(data, nodes=100, degree=4)
    strong = gl.Instance.of(
        i.adjacency, i.features, i.labels, i.train_mask, data=data.replaced(lam=3.0), degree=4
    )
    with pytest.raises(gl.ParameterError, match="lam = 3 is not allowed at degree 4"):
        gl.belief_propagation(strong)
    certain = gl.sample(
        data.replaced(lam=10.0), nodes=100, degree=50
    )  # edges of probability 1, and 0
    with pytest.raises(gl.ParameterError, match="lam = 10, mu = 1: the messages overflow"):
        gl.belief_propagation(certain)
    signed = i.adjacency.copy()
    signed.data[:9] = -0.1
    with pytest.raises(gl.ParameterError, match="9 negative weights"):
        gl.belief_propagation(gl.Instance.of(signed, i.features, i.labels, i.train_mask, data=data))


@pytest.mark.slow
def test_at_large_degree_accuracy_and_free_entropy_are_those_of_the_ceiling():
    data = gl.CSBM(alpha=10, lam=1.0, mu=1.0, rho=0.15)
    found = [
        gl.belief_propagation(gl.sample(data, nodes=800, degree=25, seed=k), tol=1e-4)
        for k in range(8)
    ]
    best = gl.bayes_optimal(data)
    for values, exact in (
        ([f.performance.test_accuracy for f in found], best.test_accuracy),
        ([f.performance.test_loss for f in found], best.test_loss),
        ([f.free_entropy for f in found], best.free_entropy),
    ):
        assert abs(np.mean(values) - exact) < 4 * np.std(values, ddof=1) / np.sqrt(len(values))


@pytest.mark.parametrize("observations", [1.0, 2.0])
@pytest.mark.parametrize("classes, weighted", [(2, False), ([0.2, 0.3, 0.5], True)])
def test_the_field_of_the_absent_edges_is_the_slope_of_their_energy(
    classes, weighted, observations
):
    """The Bethe term is the energy less its field on the nodes, E - psi . f; and f is the gradient of E in psi."""
    rng, nodes, h = np.random.default_rng(0), 30, 1e-5
    codes = Classes.of(classes).codes
    weight = rng.uniform(0.5, 2.0, (nodes, 1)) if weighted else 1.0
    absent = AbsentEdges(0.3, observations, codes, weight)

    def energy(psi):
        return absent.free_entropy(psi) + np.sum(psi * absent.field(psi, psi))

    psi = softmax(rng.standard_normal((nodes, len(codes))), axis=1)
    for _ in range(4):
        away = rng.standard_normal(psi.shape)
        slope = (energy(psi + h * away) - energy(psi - h * away)) / (2 * h)
        assert np.sum(absent.field(psi, psi) * away) == pytest.approx(slope, rel=1e-7)
    assert energy(0.0 * psi) == 0.0
