"""Uploaded graphs: good ones give the library's estimate, bad ones a sentence."""

import base64
import io
import pickle
import sys
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit.explorer.start import PRESETS, _edge_like, describe_upload
from gcnlimit.explorer.state import State


def _encoded(raw):
    return "data:application/octet-stream;base64," + base64.b64encode(raw).decode()


@pytest.fixture(scope="module")
def instance():
    return gl.sample(gl.CSBM(alpha=2, lam=1.2, mu=2.0, rho=0.3), nodes=300, degree=20, seed=0)


@pytest.mark.slow
def test_a_sampled_graph_gives_its_estimate(instance, tmp_path):
    path = tmp_path / "graph.npz"
    instance.save(path)
    state, text = describe_upload(State(), [_encoded(path.read_bytes())], ["graph.npz"])
    data = gl.real.read(path)
    advice = gl.recommend(data.X, data.training(), data.graph)
    expected = advice.estimate
    assert state.lam == pytest.approx(expected.lam, rel=1e-3)
    assert state.mu == pytest.approx(expected.mu, rel=1e-3)
    assert state.estimated
    assert set(str(advice).splitlines()) <= set(text.splitlines())
    assert (
        f"lam = {expected.lam:.3g} +- {expected.lam_error:.2g}, mu = {expected.mu:.3g} +- " in text
    )
    assert (
        f"{gl.bayes_optimal(state.data).test_accuracy:.2f}" in text
    )  # the ceiling of the page is that of the advice
    assert abs(state.lam - 1.2) < 4 * expected.lam_error


def test_edges_and_nodes_may_come_in_either_order(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 60)
    x = rng.normal(size=(60, 4)) + y[:, None]
    edges = "source,target\n" + "\n".join(
        f"{i},{j}" for i, j in rng.integers(0, 60, (200, 2)) if i != j
    )
    rows = "\n".join(
        f"{i},{'AB'[c]}," + ",".join(map(str, v)) for i, (c, v) in enumerate(zip(y, x, strict=True))
    )
    nodes = "node,label,a,b,c,d\n" + rows
    files = [(edges, "e.csv"), (nodes, "n.csv")]
    one = describe_upload(State(), [_encoded(t.encode()) for t, _ in files], [n for _, n in files])
    other = describe_upload(
        State(), [_encoded(t.encode()) for t, _ in files[::-1]], [n for _, n in files[::-1]]
    )
    assert one == other


def test_one_table_alone_is_told_what_to_add():
    text = _encoded(b"id,label\na,1\nb,2\n")
    for count, came in ((1, "1 file came"), (3, "3 files came")):
        with pytest.raises(gl.ParameterError, match=f"{came}; upload one .npz, or edges and nodes"):
            describe_upload(State(), [text] * count, ["n.csv"] * count)


@pytest.mark.parametrize(
    ("edges", "nodes"),
    [
        ("von;nach\na;b\nb;c\na;c", "id;x;label\na;0,5;u\nb;1,5;v\nc;2,5;u"),
        ("p,q,w\na,b,1\na,c,2\nb,c,2", "id,label\na,u\nb,v\nc,u"),
        ("child\tparent\nb\ta\nc\ta\nd\tb", "id\tx\tlabel\na\t1\tu\nb\t2\tv\nc\t3\tu\nd\t4\tv"),
        ("src,dst\na,b\nb,c", "id,source of income\na,1\nb,2\nc,3"),
        ("a,b,1\na,c,2\nb,c,2", "a,1\n\nb,2\n\nc,3"),
    ],
)
def test_a_list_of_edges_is_known_from_a_table_of_nodes(tmp_path, edges, nodes):
    for k, text in enumerate((nodes, edges)):
        (tmp_path / f"{k}.csv").write_text(text)
    first, _ = sorted(tmp_path.iterdir(), key=_edge_like)
    assert first.name == "1.csv"


def test_what_is_said_of_tables_names_fields_of_the_page_and_no_options():
    edges = "source,target\n" + "\n".join(f"{k},{(k + 1) % 40}" for k in range(40))
    nodes = "id,label,class,born\n" + "\n".join(f"{k},{k % 2},{k % 3},1/2/2003" for k in range(40))
    files = [_encoded(edges.encode()), _encoded(nodes.encode())], ["e.csv", "n.csv"]
    for how, words in (
        ({}, "the field Classes (label) of How to read my graph"),
        ({"label": "class"}, "leave it out by the field Leave out (born) of How to read my graph"),
        ({"label": "class", "drop": ["born"]}, "use the field Undirected of How to read my graph"),
        (
            {"label": "class", "drop": ["born"], "undirected": True},
            "Your graph: 40 nodes, 3 classes",
        ),
    ):
        try:
            text = describe_upload(State(), *files, **how)[1]
        except gl.GCNLimitError as error:
            text = str(error)
        assert words in text
        assert "--" not in text
        assert "undirected=" not in text


def test_refusals_name_the_file_and_end_with_what_was_read():
    """The full stop is that of the page."""
    with pytest.raises(gl.GCNLimitError, match=r"^'g.npz' cannot be read as a graph: .*[^.]$"):
        describe_upload(State(), [_encoded(b"no graph")], ["g.npz"])
    tables = [_encoded(b"source,target\na,b"), _encoded("id,Größe\na,1\nb,2".encode("cp1252"))]
    with pytest.raises(gl.GCNLimitError, match=r"\(name\) .* names no column of 'n.csv'.*[^.]$"):
        describe_upload(State(), tables, ["e.csv", "n.csv"], id="name")


def test_a_bomb_is_refused_before_it_is_unpacked(monkeypatch):
    monkeypatch.setattr("gcnlimit.explorer.start.MEMORY", 2e7)
    raw = io.BytesIO()
    np.savez_compressed(raw, indptr=np.zeros(2 * 10**7), other=np.zeros(10**7))
    tracemalloc.start()
    sentence = r"needs about 0.24 GB of memory, of 0.02 GB available; write a smaller one$"
    with pytest.raises(gl.GCNLimitError, match=sentence):
        describe_upload(State(), [_encoded(raw.getvalue())], ["a.npz"])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1e7


@pytest.mark.skipif(sys.platform != "linux", reason="memory is bounded on Linux")
@pytest.mark.parametrize(
    "counted, sentence",
    [(True, "needs about 0.448 GB"), (False, "needs more memory than an upload may take")],
)
def test_what_grows_when_it_is_read_is_refused_and_not_kept(monkeypatch, counted, sentence):
    """Features of a byte become numbers of eight; of 13 MB they took all memory there was, if they were not counted."""
    monkeypatch.setattr("gcnlimit.explorer.start.MEMORY", 3e7)
    if not counted:
        monkeypatch.setattr("gcnlimit.graphs.dataset.check_work", lambda _: None)
    raw = io.BytesIO()
    ring, x = np.arange(201), np.ones((200, 140_000), np.int8)
    np.savez_compressed(raw, indptr=ring, indices=np.roll(ring[:-1], 1), x_dense=x)
    with pytest.raises(gl.GCNLimitError, match=sentence) as told:
        describe_upload(State(), [_encoded(raw.getvalue())], ["a.npz"])
    assert told.value.__context__ is None


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
    tables = 2 if name.endswith(".csv") else 1
    with pytest.raises(gl.GCNLimitError):
        describe_upload(State(), [_encoded(raw)] * tables, [name] * tables)
    assert "executed" not in capsys.readouterr().out


def test_a_file_that_is_too_large_is_refused(monkeypatch):
    monkeypatch.setattr("gcnlimit.explorer.start.LARGEST", 10)
    with pytest.raises(gl.GCNLimitError, match=r"use gl\.recommend"):
        describe_upload(State(), [_encoded(b"0" * 11)], ["a.npz"])


def test_very_many_columns_are_refused_before_they_are_compared(monkeypatch):
    monkeypatch.setattr("gcnlimit.explorer.start.describe", None)
    wide = SimpleNamespace(X=np.zeros((2, 20_001)))
    monkeypatch.setattr("gcnlimit.explorer.start.read_labelled", lambda *files: wide)
    with pytest.raises(gl.GCNLimitError, match="20001 columns, more than the 20000"):
        describe_upload(State(), [_encoded(b"")], ["a.npz"])
    monkeypatch.setattr("gcnlimit.explorer.start.read_labelled", None)
    tables = b"source,target\na,b\n", b"id,label," + b"1," * 10**6
    with pytest.raises(gl.GCNLimitError, match=r"1000003 columns, more than .* leave some out"):
        describe_upload(State(), [*map(_encoded, tables)], ["e.csv", "n.csv"])


def test_files_are_called_by_their_own_names(monkeypatch):
    """In refusals and in notes; not by those of the copies that are read."""
    edges = _encoded(b"source,target\na,b\nb,c\n")
    twice = _encoded(b"id,label\na,x\na,y\nb,x\n")
    with pytest.raises(gl.GCNLimitError, match=r"^'two\.csv' names the node 'a' 2 times"):
        describe_upload(State(), [edges, twice], ["mine.csv", "two.csv"])
    monkeypatch.setattr(
        "gcnlimit.explorer.start.describe", lambda state, data, scale: (state, " ".join(data.notes))
    )
    nodes = _encoded("id,city,label\na,Köln,x\nb,Mainz,y\nc,Köln,x\n".encode("cp1252"))
    _, words = describe_upload(State(), [edges, nodes], ["mine.csv", "people.csv"])
    assert words.startswith("'people.csv' is not UTF-8")


def test_every_example_lies_within_the_limits_of_the_controls():
    for examples in PRESETS.values():
        for state in examples.values():
            assert State.of(vars(state)) == state
