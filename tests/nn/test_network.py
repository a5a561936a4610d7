"""The unrolled network: its layers are those of the state evolution, and training finds its numbers."""

from types import SimpleNamespace

import numpy as np
import pytest

import gcnlimit as gl

torch = pytest.importorskip("torch")


from gcnlimit.nn import MessagePassing, fit, from_edge_index, from_graph, train  # noqa: E402
from gcnlimit.nn.network import LayerNumbers, OperatorMessages  # noqa: E402
from gcnlimit.nn.operators import as_operator  # noqa: E402

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)


def parts(data, seed, nodes=3000, degree=30):
    i = gl.sample(data, nodes=nodes, degree=degree, seed=seed, dtype=np.float32)
    labels = (i.labels > 0).astype(int) if data.classes.two else data.classes.index_of(i.labels)
    known = np.where(i.train_mask, labels, -1)
    return i, torch.from_numpy(i.features), from_graph(i.adjacency), torch.from_numpy(known), labels


def with_numbers(data, layers, *numbers):
    network = MessagePassing(data.classes.count, layers, sizes=not data.classes.equal)
    with torch.no_grad():
        for parameter, number in zip(
            (network.graph_gain, network.feature_gain, network.shrinkage), numbers, strict=True
        ):
            parameter.fill_(number)
        network.log_sizes.copy_(torch.log(torch.from_numpy(data.fractions)))
    return network


MATCHED = (2.0**0.5, 2.0, 2.0)


@pytest.mark.parametrize(
    "classes, degree, numbers",
    [
        (2, 30, MATCHED),
        (2, 30, (0.9, 1.0, 0.3)),
        ((0.25, 0.75), 200, (2.2, 1.0, 0.5)),
        ((0.5, 0.3, 0.2), 200, MATCHED),
    ],
)
def test_layers_are_those_of_the_state_evolution(classes, degree, numbers):
    """Four graphs, four depths: accuracies within four standard errors of the exact ones, matched or not."""
    data = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1, classes=classes)
    graph, features, shrinkage = numbers
    exact = gl.theory.message_passing(
        data, 4, graph=graph, features=features, shrinkage=shrinkage
    ).test_accuracy
    found = []
    for seed in range(4):
        i, x, S, known, labels = parts(data, seed, degree=degree)
        for depth in range(1, 5):
            with torch.no_grad():
                right = (
                    with_numbers(data, depth, *numbers)(x, S, known, known >= 0).argmax(1).numpy()
                    == labels
                )
            found.append(right[~i.train_mask].mean())
    found = np.reshape(found, (4, 4))
    error = np.maximum(found.std(axis=0, ddof=1) / 2, np.sqrt(exact * (1 - exact) / (4 * 2700)))
    assert np.all(np.abs(found.mean(axis=0) - exact) < 4 * error)


@pytest.mark.parametrize("classes", [(0.25, 0.75), (0.5, 0.3, 0.2)])
def test_matched_numbers_reach_message_passing_on_unequal_classes(classes):
    """Gains and sizes of the model itself: the accuracies of five graphs differ from those of message passing by chance."""
    data = gl.CSBM(alpha=2.5, lam=0.8, mu=1.6, rho=0.2, classes=classes)
    network = with_numbers(data, 15, 0.8 * 2**0.5, 1.6, 1.6)
    gain = []
    for seed in range(5):
        i = gl.sample(data, nodes=2000, degree=60, seed=seed, dtype=np.float32)
        truth = torch.from_numpy(data.classes.index_of(i.labels))
        with torch.no_grad():
            logits = network(
                torch.from_numpy(i.features),
                from_graph(i.adjacency),
                truth,
                torch.from_numpy(i.train_mask),
            )
        right = (logits.argmax(1) == truth).numpy()[~i.train_mask].mean()
        gain.append(right - gl.amp(i).performance.test_accuracy)
    assert abs(np.mean(gain)) < 4 * np.std(gain, ddof=1) / 5**0.5


def test_equal_sizes_give_what_the_network_without_sizes_gives():
    _, x, S, known, _ = parts(DATA, 0, nodes=300)
    with torch.no_grad():
        found = [
            torch.softmax(MessagePassing(2, 5, sizes=sizes)(x, S, known, known >= 0), 1)
            for sizes in (False, True)
        ]
    assert torch.allclose(*found, atol=1e-4)


def test_labels_of_other_nodes_are_not_looked_at():
    _, x, S, known, labels = parts(DATA, 0, nodes=300)
    network, full = MessagePassing(2, 3), torch.from_numpy(labels)
    with torch.no_grad():
        assert torch.equal(network(x, S, known, known >= 0), network(x, S, full, known >= 0))


@pytest.mark.parametrize("lam", [1.2, -1.2])
def test_training_finds_the_sign_of_the_graph(lam):
    i, x, S, known, labels = parts(gl.CSBM(4, lam, 2.0, 0.2), 1, nodes=1000)
    network = MessagePassing(2, 6)
    train(network, x, S, known, iterations=5)
    assert np.sign(network.graph_gain.item()) == np.sign(lam)
    with torch.no_grad():
        right = network(x, S, known, known >= 0).argmax(1).numpy() == labels
    assert right[~i.train_mask].mean() > gl.bayes_optimal(i.data.replaced(lam=0.0)).test_accuracy


def test_each_labelled_node_is_answered_once_with_its_own_label_hidden():
    """A network that repeats what it is told knows nothing of it, and one that always says 0 is right on class 0."""
    labels = torch.tensor([0, 1, -1, 0, 2, 0, 1, -1])
    repeats, zero = (
        SimpleNamespace(classes=3, passed=lambda x, S, seen, say=say: (say(seen), None))
        for say in (lambda seen: 9.0 * seen, lambda seen: torch.eye(3)[[0]] + 0.0 * seen)
    )
    x = torch.zeros(8, 1)
    assert fit._hidden(zero, x, None, labels, seed=0)[0] == 0.5
    accuracy, score = fit._hidden(repeats, x, None, labels, seed=0)
    assert accuracy == 0.5  # the first of equal numbers
    assert score == pytest.approx(accuracy - ((2 / 3) ** 2 + 2 / 9) / 3)


def test_edges_of_torch_geometric_give_the_same_operator():
    i, *_ = parts(DATA, 0, nodes=300)
    edges = torch.from_numpy(np.stack(i.adjacency.nonzero()))
    block = torch.randn(300, 2)
    assert torch.allclose(
        from_edge_index(edges, 300) @ block, from_graph(i.adjacency) @ block, atol=1e-5
    )


def test_gradients_pass_through_the_operator():
    i, *_ = parts(DATA, 0, nodes=200)
    S = from_graph(i.adjacency)
    block = torch.randn(200, 2, requires_grad=True)
    weight = torch.randn(200, 2)
    ((S @ block) * weight).sum().backward()
    assert torch.allclose(block.grad, S @ weight, atol=1e-5)


@pytest.mark.parametrize("hubs", [False, True])
@pytest.mark.parametrize("gain", [0.6, 2.0])
def test_a_node_does_not_hear_its_own_message_back(gain, hubs):
    """On noise alone the second evidence is independent of the first means, and would not be without the memory."""
    rng, nodes = np.random.default_rng(0), 1500
    noise = rng.standard_normal((nodes, nodes)) / nodes**0.5
    theta = rng.gamma(1.0, size=nodes) if hubs else np.ones(nodes)
    S = as_operator(
        (noise + noise.T) / 2**0.5 * np.sqrt(np.outer(theta, theta)), theta=theta if hubs else None
    )
    first = torch.from_numpy(rng.choice([-1.0, 1.0], nodes).astype(np.float32))[:, None, None]
    start = first * torch.tensor([0.5**0.5, -(0.5**0.5)])

    def overlap(memory):
        numbers, messages = LayerNumbers(gain, 0.0, 0.0, memory, 0.0), OperatorMessages(S, start)
        heard = messages.evidence(start, torch.zeros_like(first), numbers)
        second = torch.tanh(2**0.5 * heard) / 2**0.5  # posterior means of two classes
        unsure = 1.0 - (second**2).sum(dim=2, keepdim=True)
        return float((messages.evidence(second, unsure, numbers) * start).sum()) / nodes

    assert abs(overlap(1.0)) < 4 * gain / nodes**0.5
    assert overlap(0.0) > 8 * gain / nodes**0.5


@pytest.mark.parametrize(
    "given, says",
    [
        ({"classes": 1}, "classes = 1 is not allowed"),
        ({"classes": 2, "layers": 0}, "layers = 0 is not allowed"),
        ({"classes": 2, "memory": "none"}, "memory = 'none'"),
    ],
)
def test_what_is_no_network_is_refused(given, says):
    with pytest.raises(gl.ParameterError, match=says):
        MessagePassing(**given)


def test_an_operator_on_another_device_is_the_same_matrix_there():
    operator = from_graph(gl.sample(gl.CSBM(4, 1.0, 2.0, 0.1), 60, 6).adjacency)
    assert operator.to("cpu") is operator
    moved = operator.to("meta")
    assert moved.matrix.device.type == "meta"
    assert moved.matrix.shape == operator.matrix.shape
    assert moved.to("meta") is moved
