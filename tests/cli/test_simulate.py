import json
import math
import re

import pytest
from helpers import run
from scipy import stats

import gcnlimit as gl

DATA = [
    "--alpha",
    "4",
    "--lam",
    "1",
    "--mu",
    "2",
    "--rho",
    "0.1",
    "--nodes",
    "300",
    "--degree",
    "20",
]


def test_sample_writes_what_the_library_samples(tmp_path):
    path = tmp_path / "graph.npz"
    done = run("sample", *DATA, "--seed", "3", "--out", str(path), "--json")
    assert done.exit_code == 0
    stored = gl.Instance.load(path)
    fresh = gl.sample(gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1), nodes=300, degree=20, seed=3)
    assert (stored.adjacency != fresh.adjacency).nnz == 0
    assert json.loads(done.output)[0]["edges"] == fresh.adjacency.nnz


def test_simulate_prints_means_and_errors():
    done = run(
        "simulate",
        *DATA,
        "--t",
        "0.5,1",
        "--no-symmetrize",
        "--trials",
        "2",
        "--workers",
        "1",
        "--json",
    )
    assert done.exit_code == 0
    rows = json.loads(done.output)
    gcn = gl.GCN(gl.Diffusion([0.5, 1.0]), symmetrize=False)
    expected = gl.simulate(
        gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1), gcn, nodes=300, degree=20, trials=2, workers=1
    )
    assert [row["test_accuracy"] for row in rows] == expected.test_accuracy.tolist()
    assert [
        row["train_accuracy_error"] for row in rows
    ] == expected.standard_error.train_accuracy.tolist()


def test_simulate_prints_the_exact_prediction_and_the_deviation_from_it():
    network = ["--t", "1", "--reg", "1,inf", "--symmetrize", "--trials", "3", "--workers", "1"]
    rows = json.loads(run("simulate", *DATA, *network, "--json").output)
    gcn = gl.GCN(gl.Diffusion(1.0), reg=[1.0, math.inf], symmetrize=True)
    exact = gl.predict(gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1), gcn)
    for row, wanted in zip(rows, exact.test_loss, strict=True):
        assert row["test_loss_exact"] == wanted
    z = (rows[0]["test_loss"] - rows[0]["test_loss_exact"]) / rows[0]["test_loss_error"]
    assert stats.norm.cdf(rows[0]["test_loss_z"]) == pytest.approx(stats.t.cdf(z, df=2))
    assert rows[1]["test_loss_z"] is None  # at infinite reg all trials have the loss of 0
    table = run("simulate", *DATA, *network).output
    assert f"{exact.test_accuracy[0]:.5g}" in table
    assert f"{rows[0]['test_accuracy_z']:+.1f}" in table


def test_few_graphs_are_judged_by_the_predicted_scatter():
    data, networks = (
        gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1),
        ["--t", "0.5,1", "--workers", "1", "--json"],
    )
    for to in (None, data.replaced(lam=0.5)):
        other = [] if to is None else ["--to-lam", "0.5"]
        few, more = (
            json.loads(run("simulate", *DATA, *networks, *other, "--trials", n).output)
            for n in ("1", "4")
        )
        for row, t in zip(few, (0.5, 1.0), strict=True):
            scatter = gl.theory.scatter(data, gl.GCN(gl.Diffusion(t)), 300, to=to).deviation
            assert row["test_accuracy_error"] == scatter
            assert row["test_accuracy_z"] * scatter == pytest.approx(
                row["test_accuracy"] - row["test_accuracy_exact"]
            )
        z = (more[0]["test_accuracy"] - more[0]["test_accuracy_exact"]) / more[0][
            "test_accuracy_error"
        ]
        assert stats.norm.cdf(more[0]["test_accuracy_z"]) == pytest.approx(stats.t.cdf(z, df=3))
    three = json.loads(
        run("simulate", *DATA, "--classes", "3", "--t", "1", "--trials", "1", "--json").output
    )[0]
    assert three["test_accuracy_z"] is None  # the theory of scatter is one of two classes


def test_classes_reach_the_simulation(tmp_path):
    words = [
        "--classes",
        "0.3,0.7",
        "--t",
        "1",
        "--loss",
        "logistic",
        "--reg",
        "1",
        "--trials",
        "2",
        "--workers",
        "1",
    ]
    row = json.loads(run("simulate", *DATA, *words, "--json").output)[0]
    data = gl.CSBM(alpha=4, lam=1, mu=2, rho=0.1, classes=[0.3, 0.7])
    expected = gl.simulate(
        data, gl.GCN(gl.Diffusion(1.0), "logistic", 1.0), nodes=300, degree=20, trials=2, workers=1
    )
    assert (row["test_accuracy"], row["roc_auc"]) == (expected.test_accuracy, expected.roc_auc)
    assert (
        run("sample", *DATA, "--classes", "3", "--out", str(tmp_path / "three.npz")).exit_code == 0
    )
    assert gl.Instance.load(tmp_path / "three.npz").data.classes == 3


def test_a_point_that_fails_does_not_lose_the_others():
    done = run(
        "simulate", *DATA, "--lam", "1,9", "--t", "1", "--trials", "2", "--workers", "1", "--json"
    )
    assert done.exit_code == 0
    first, second = json.loads(done.stdout)
    assert 0.5 < first["test_accuracy"] < 1.0
    assert second["test_accuracy"] is None
    assert "1 of 2 points" in done.stderr


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["simulate", *DATA, "--t", "1", "--trials", "0"], "trials"),
        (["simulate", *DATA, "--t", "1", "--degree", "0.1"], "lam"),
        (["sample", *DATA, "--out", "/no/such/folder/x.npz"], "there is no folder /no/such/folder"),
        (["sample", *DATA, "--lam", "1,2", "--out", "x.npz"], "shape"),
    ],
)
def test_bad_input_is_one_sentence_and_status_2(arguments, message):
    done = run(*arguments)
    assert done.exit_code == 2
    assert message in done.output
    assert "Traceback" not in done.output


def test_on_a_narrow_terminal_every_part_of_the_table_begins_with_point_and_quantity(monkeypatch):
    monkeypatch.setattr("gcnlimit.cli.output.is_terminal", lambda stream: True)
    monkeypatch.setenv("COLUMNS", "45")
    signals = ["--alpha", 4, "--lam", "0.5,1", "--mu", 2, "--rho", 0.3, "--t", 1]
    page = run("simulate", *signals, "--nodes", 60, "--trials", 2, "--workers", 1).output
    heads = [line for line in page.splitlines() if "lam" in line]
    assert len(heads) > 1
    assert all(re.match(r"\s*lam\s+what\s+\S", head) for head in heads)
    assert all(len(line) <= 45 for line in page.splitlines()[1:])


def test_a_network_that_is_measured_but_has_no_exact_answer_says_why():
    signals = ["--alpha", 2, "--lam", 1, "--mu", 1, "--rho", 0.3, "--undirected", "--c", "1,0.5"]
    descent = ["--reg", 0.1, "--steps", 3, "--rate", "0.05,50"]
    done = run("simulate", *signals, *descent, "--nodes", 60, "--trials", 2, "--workers", 1)
    assert done.exit_code == 0
    assert "1 of 2 points" in done.stderr
    assert "rate = 50: there is no solution at rate = 50, whose largest stable" in done.stderr
