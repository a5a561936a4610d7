"""Uploaded graphs: good ones give the library's estimate, bad ones a sentence."""

import base64
import pickle

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.explorer.start import describe_upload
from gcnlimit.explorer.state import State


def _encoded(raw):
    return "data:application/octet-stream;base64," + base64.b64encode(raw).decode()


@pytest.fixture(scope="module")
def instance():
    return gl.sample(gl.CSBM(alpha=2, lam=1.2, mu=2.0, rho=0.3), nodes=300, degree=20, seed=0)


def test_a_sampled_graph_gives_its_estimate(instance, tmp_path):
    path = tmp_path / "graph.npz"
    instance.save(path)
    state, text = describe_upload(State(), [_encoded(path.read_bytes())], ["graph.npz"])
    data = gl.real.read(path)
    expected = gl.estimate(data.X, data.training(), data.graph)
    assert state.lam == pytest.approx(expected.lam, rel=1e-3)
    assert state.mu == pytest.approx(expected.mu, rel=1e-3)
    assert state.estimated
    advice = str(gl.recommend(data.X, data.training(), data.graph))
    assert set(advice.splitlines()) <= set(text.splitlines())
    assert abs(state.lam - 1.2) < 4 * expected.lam_error


def test_edges_and_nodes_may_come_in_either_order(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    x = rng.normal(size=(60, 4)) + y[:, None]
    edges = "source,target\n" + "\n".join(f"{i},{j}" for i, j in rng.integers(0, 60, (200, 2)) if i != j)
    rows = "\n".join(f"{i},{'AB'[c]}," + ",".join(map(str, v)) for i, (c, v) in enumerate(zip(y, x, strict=True)))
    nodes = "node,label,a,b,c,d\n" + rows
    files = [(edges, "e.csv"), (nodes, "n.csv")]
    one = describe_upload(State(), [_encoded(t.encode()) for t, _ in files], [n for _, n in files])
    other = describe_upload(State(), [_encoded(t.encode()) for t, _ in files[::-1]], [n for _, n in files[::-1]])
    assert one == other


class _Harm:
    def __reduce__(self):
        return (print, ("executed",))


@pytest.mark.parametrize(
    "raw, name",
    [
        (b"", "a.npz"),
        (b"not a zip file", "a.npz"),
        (pickle.dumps(_Harm()), "a.npz"),
        (b"\x00\xff" * 100, "a.csv"),
        (b"source,target\n1,2\n", "a.exe"),
        (b"source,target\n1,x,3\n", "a.csv"),
    ],
)
def test_what_is_no_graph_is_refused_in_a_sentence_and_not_executed(raw, name, capsys):
    with pytest.raises(gl.GCNLimitError):
        describe_upload(State(), [_encoded(raw)], [name])
    assert "executed" not in capsys.readouterr().out


def test_a_file_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("gcnlimit.explorer.start.LARGEST", 10)
    with pytest.raises(gl.GCNLimitError, match="use gcnlimit recommend"):
        describe_upload(State(), [_encoded(b"0" * 11)], ["a.npz"])
