"""The verbs for a graph of one's own: the numbers of the library, from a file."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner
from helpers import answer, run
from reference import ROOT

import gcnlimit as gl
from gcnlimit import real
from gcnlimit.cli.app import app

TEXAS = str(ROOT / "examples" / "data" / "texas.npz")


def test_nodes_to_label_next_are_ranked_in_the_file(tmp_path):
    answer("classify", TEXAS, "--review", 7, "--out", tmp_path / "classes.csv")
    with open(tmp_path / "classes.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    ranked = {int(row["review"]): row for row in rows if row["review"]}
    assert sorted(ranked) == list(range(1, 8))
    assert {row["known"] for row in ranked.values()} == {"0"}
    data = real.read(TEXAS)
    model = gl.GraphClassifier().fit(data.X, data.training(), graph=data.graph)
    assert [int(ranked[k]["node"]) for k in range(1, 8)] == model.review(7).tolist()
    assert "add --out FILE" in run("classify", TEXAS, "--review", "7").stderr


def test_classify_is_the_classifier(tmp_path):
    shown = json.loads(
        answer("classify", TEXAS, "--split", 3, "--json", "--out", tmp_path / "classes.csv")
    )[0]
    data = real.read(TEXAS)
    model = gl.GraphClassifier().fit(data.X, data.training(3), graph=data.graph)
    assert shown["test_accuracy"] == model.score(y=data.testing(3))
    assert shown["loo_accuracy"] == pytest.approx(model.loo_score_)
    with open(tmp_path / "classes.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    given, known = data.training(3), np.array([row["known"] == "1" for row in rows])
    assert np.array_equal(known, given >= 0)
    assert [int(row["class"]) for row in rows] == np.where(known, given, model.predict()).tolist()
    assert [float(row["probability 3"]) for row in rows] == pytest.approx(
        model.predict_proba()[:, model.classes_.tolist().index(3)], abs=1e-4
    )


def test_recommend_and_classify_use_the_same_names():
    verbs = ("recommend", "classify")
    advised, classified = (json.loads(answer(verb, TEXAS, "--json"))[0] for verb in verbs)
    assert {*advised} - {*classified} == {"half_accuracy", "reason"}
    assert {*classified} - {*advised} == {"test_accuracy"}
    assert all(advised[name] == classified[name] for name in advised.keys() & classified.keys())
    assert advised["network"] in advised["reason"]


def test_tables_and_arrays_give_the_same(tmp_path):
    i = gl.sample(
        gl.CSBM(alpha=4, lam=1.5, mu=2.0, rho=0.3, directed=False), nodes=120, degree=12, seed=0
    )
    i.save(tmp_path / "graph.npz")
    data = real.read(tmp_path / "graph.npz")
    hidden = real.Dataset(data.graph, data.X, data.training())
    real.write(hidden, tmp_path / "edges.csv", tmp_path / "nodes.csv")
    one = json.loads(answer("classify", tmp_path / "graph.npz", "--json"))[0]
    two = json.loads(
        answer("classify", tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv", "--json")
    )[0]
    assert one["loo_accuracy"] == pytest.approx(two["loo_accuracy"])
    assert one["network"] == two["network"]
    assert "test_accuracy" in one
    assert "test_accuracy" not in two


def test_describe_is_the_description(tmp_path):
    data = real.read(TEXAS)
    found = gl.describe(data.X, data.y, data.graph)
    assert answer("describe", TEXAS, "--plot", tmp_path / "spectrum.png").strip() == str(found)
    assert (tmp_path / "spectrum.png").stat().st_size > 1000
    shown = json.loads(answer("describe", TEXAS, "--split", 0, "--json"))[0]
    assert shown["labelled"] == int(np.sum(data.training() >= 0))
    assert shown["holds"] is False


@pytest.mark.parametrize(
    "arguments",
    [
        ("classify", TEXAS, "--split", 99),
        ("describe", __file__),
        ("classify", TEXAS, "--nodes", TEXAS),
    ],
)
def test_what_cannot_be_done_is_a_sentence(arguments):
    done = run(*arguments)
    assert done.exit_code == 2
    assert done.output.startswith("Error: ")
    assert len(done.output.strip().splitlines()) == 1


def test_ordinary_tables_are_read_and_what_was_done_is_said(tmp_path):
    i = gl.sample(
        gl.CSBM(alpha=4, lam=1.5, mu=2.0, rho=0.5, directed=False), nodes=60, degree=8, seed=0
    )
    rows, columns = i.adjacency.tocoo().coords
    edges = [f"{a},{b}" for a, b in zip(rows, columns, strict=True)]
    (tmp_path / "e.csv").write_text("who,whom\n" + "\n".join([*edges, edges[0]]) + "\n")
    role = [
        "NA" if not seen else "ab"[int(c > 0)]
        for c, seen in zip(i.labels, i.train_mask, strict=True)
    ]
    body = [
        f"{k},{x:.3f},2020-01-01,{c}"
        for k, (x, c) in enumerate(zip(i.features[:, 0], role, strict=True))
    ]
    (tmp_path / "n.csv").write_text("who,x,joined,role\n" + "\n".join(body) + "\n")
    options = ("--nodes", tmp_path / "n.csv", "--label", "role", "--drop", "joined", "--undirected")
    done = run("describe", tmp_path / "e.csv", *options)
    assert done.exit_code == 0, done.output
    assert "30 of 60 nodes have no label (NA)." in done.stderr
    assert "Ignored" in done.stderr
    assert "30 labelled: a" in done.stdout


def test_names_in_a_file_move_no_cursor_of_the_terminal(tmp_path):
    rows = [f"{k},\x1b]0;{'ab'[k % 2]}\x07,{k % 7}" for k in range(40)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,\x1b[2Jx", *rows]))
    edges = [f"{k},{(k + step) % 40}" for k in range(40) for step in (1, 2)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *edges]))
    given = (tmp_path / "edges.csv", "--nodes", tmp_path / "nodes.csv")
    for words in (("describe", *given), ("describe", *given, "--label", "y")):
        said = CliRunner().invoke(app, list(map(str, words)), color=True).output
        assert {"]0;a" in said, "[2Jx" in said} == {True, False}
        assert said.replace("\n", "").isprintable()


def test_a_split_that_tables_do_not_have_is_refused(tmp_path):
    data = real.read(TEXAS)
    real.write(
        real.Dataset(data.graph, data.X, data.training()),
        tmp_path / "edges.csv",
        tmp_path / "nodes.csv",
    )
    words = [
        "classify",
        str(tmp_path / "edges.csv"),
        "--nodes",
        str(tmp_path / "nodes.csv"),
        "--split",
        "3",
    ]
    done = run(*words)
    assert done.exit_code == 2
    assert "has no splits" in done.stderr


def test_a_port_is_one_of_16_bits():
    assert run("explore", "--port", "65536").exit_code == 2


def test_explore_reads_tables_as_the_other_verbs_do(tmp_path, monkeypatch):
    pytest.importorskip("dash")
    shown = []
    monkeypatch.setattr(
        "gcnlimit.explorer.app.serve", lambda *given, **how: shown.append((given, how))
    )
    data = real.read(TEXAS)
    real.write(
        real.Dataset(data.graph, data.X, data.training()),
        tmp_path / "edges.csv",
        tmp_path / "nodes.csv",
    )
    table = (tmp_path / "nodes.csv").read_text().replace("label", "role", 1)
    (tmp_path / "nodes.csv").write_text(table)
    words = [
        tmp_path / "edges.csv",
        "--nodes",
        tmp_path / "nodes.csv",
        "--label",
        "role",
        "--undirected",
    ]
    answer("explore", *words, "--no-browser")
    (state, sentence), how = shown[0]
    assert (state.directed, state.estimated, how["browser"]) == (False, True, False)
    assert "183 nodes" in sentence


def test_fractions_are_words_or_shares_by_class():
    data = real.read(TEXAS)
    shares = {0: 0.2, 2: 0.1, 3: 0.6, 4: 0.1}
    given = ",".join(f"{name}={share}" for name, share in shares.items())
    shown = json.loads(answer("classify", TEXAS, "--json", "--fractions", given))[0]
    model = gl.GraphClassifier(fractions=shares).fit(data.X, data.training(), graph=data.graph)
    assert shown["test_accuracy"] == model.score(y=data.testing())
    assert "average" in answer("classify", TEXAS, "--fractions", "labels")
    for bad in ("some", "0=a,1=b", "0=0.5", "0.5,0.5", "=0.5,0=0.5"):
        done = run("classify", TEXAS, "--fractions", bad)
        assert done.exit_code != 0
        assert "fractions" in done.output
        assert ("share for each class, such as a=0.2" in done.output) == (bad != "0=0.5")


def test_a_complete_graph_has_no_advice_but_answers(tmp_path):
    complete = real.Dataset(np.ones((12, 12)) - np.eye(12), None, np.arange(12) % 3 - 1)
    real.write(complete, tmp_path / "complete.npz")
    for verb in ("recommend", "describe"):
        done = run(verb, tmp_path / "complete.npz")
        assert "use GraphClassifier, or gcnlimit classify" in done.output
    assert "network" in answer("classify", tmp_path / "complete.npz")


def test_few_labels_are_said_to_be_few(tmp_path):
    i = gl.sample(
        gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.05, directed=False), nodes=160, degree=12, seed=0
    )
    i.save(tmp_path / "graph.npz")
    done = run("classify", str(tmp_path / "graph.npz"))
    assert "labelled nodes are too few to say what accuracy to expect." in done.stderr


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # which the command line writes to the standard error
def test_labels_of_whole_groups_are_said_once_and_nothing_is_expected(tmp_path):
    """By both verbs: of teams of five that are cliques, one in four is labelled as a whole."""
    team = np.arange(200) // 5
    A = (team[:, None] == team) - np.eye(200)
    A[np.arange(199), np.arange(1, 200)] = A[np.arange(1, 200), np.arange(199)] = 1.0
    X = np.random.default_rng(0).standard_normal((200, 6))
    real.write(real.Dataset(A, X, np.where(team % 4 == 0, team % 8 // 4, -1)), tmp_path / "g.npz")
    for verb in ("classify", "recommend"):
        said = run(verb, str(tmp_path / "g.npz"))
        assert (said.stdout + said.stderr).replace("\n  ", " ").count("hide the labels") == 1
        shown = json.loads(answer(verb, str(tmp_path / "g.npz"), "--json"))[0]
        assert (shown["expected_accuracy"], shown["expected_low"], shown["loo_accuracy"]) == (
            None,
            0.0,
            None,
        )
