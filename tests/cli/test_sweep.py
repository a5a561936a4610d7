"""A sweep written as a file: what it means, what is refused, and the verb that runs it."""

import numpy as np
import pytest
import xarray as xr
from helpers import run

import gcnlimit as gl
from gcnlimit.cli.sweep import read_file
from gcnlimit.sweeps import run as sweep_run
from gcnlimit.sweeps.producers import compute

TEXT = """
what = "predict"
[data]
alpha = 4
lam = 1.0
mu = 2.0
rho = 0.1
[network]
t = 1.0
reg = inf
symmetrize = true
[axes]
lam = {start = 0, stop = 2, num = 5}
t = [0.5, 1.0, 1.5]
"""


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(TEXT)
    return path


def swept(*arguments):
    return run("sweep", *arguments)


def expected():
    data, gcn = gl.CSBM(4, 1.0, 2.0, 0.1), gl.GCN(gl.Diffusion(1.0), symmetrize=True)
    return gl.sweep(
        gl.predict, data=data, gcn=gcn, axes={"lam": np.linspace(0, 2, 5), "t": [0.5, 1.0, 1.5]}
    )


def test_the_file_means_the_call(file):
    xr.testing.assert_equal(gl.sweep(**read_file(file)), expected())


def test_logarithmic_ranges_and_named_filters(tmp_path):
    path = tmp_path / "filters.toml"
    axes = '[axes]\nfilter = [{name = "two", c = [1, 1]}, {c = 0.5, depth = 3}, {theta = 0.2}, {coefficients = [1, 2]}]\n'
    path.write_text(
        TEXT[: TEXT.index("[network]")]
        + axes
        + 'mu = {start = 0.1, stop = 10, num = 3, scale = "log"}'
    )
    asked = read_file(path)
    assert asked["axes"]["mu"] == pytest.approx([0.1, 1.0, 10.0])
    assert list(asked["axes"]["filter"].values()) == [
        gl.Residual([1, 1]),
        gl.Residual.constant(0.5, 3),
        gl.PageRank(0.2),
        gl.Polynomial([1, 2]),
    ]
    assert gl.sweep(**asked).sizes == {"filter": 4, "mu": 3}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        (
            'what = "predict"',
            'what = "predcit"',
            "choose one of predict, bayes_optimal, best_linear, simulate, tune",
        ),
        ('what = "predict"', "", "choose one of predict"),
        ("[axes]", "[axs]", "did you mean 'axes'"),
        ("alpha = 4", "alhpa = 4", "did you mean 'alpha'"),
        ("alpha = 4", "", "predict needs alpha"),
        ("alpha = 4", "alpha = -4", "alpha = -4 is not allowed"),
        ("alpha = 4", 'alpha = "four"', "alpha must be real numbers"),
        ("num = 5", "", "is not valid TOML"),
        ("start = 0, ", "", "the range of lam lacks start"),
        ("num = 5", 'num = 5, scale = "log"', "it must be > 0 and finite"),
        ("[axes]", "[solver]\nmax_iterations = []\n[axes]", "max_iterations = [] is not allowed"),
        ("t = [0.5, 1.0, 1.5]", "filter = [{t = 1, theta = 0.1}]", "a filter has one parameter"),
        ("t = [0.5, 1.0, 1.5]", "filter = 3", "must be a list of tables such as"),
        (
            "t = [0.5, 1.0, 1.5]",
            'filter = [{t = 1, name = "a"}, {t = 2, name = "a"}]',
            "two filters are named 'a'",
        ),
        ("t = [0.5, 1.0, 1.5]", "nodes = [10]", "'nodes' is not an axis of predict"),
        ("[data]", "tune = 3\n[data]", "must be a table: begin it by [tune]"),
    ],
)
def test_a_mistake_in_the_file_gets_one_sentence_and_status_two(file, old, new, sentence):
    assert old in TEXT
    file.write_text(TEXT.replace(old, new, 1))
    result = swept(file)
    assert result.exit_code == 2
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert not file.with_name("grid.sqlite").exists()


def test_the_name_of_the_verb_is_allowed(file):
    network = TEXT[TEXT.index("[network]") : TEXT.index("[axes]")]
    file.write_text(
        TEXT.replace('"predict"', '"bayes"')
        .replace(network, "")
        .replace("t = [0.5, 1.0, 1.5]", ""),
        "utf-8-sig",
    )
    assert read_file(file)["what"] == "bayes_optimal"
    assert swept(file).exit_code == 0


def test_an_empty_file_is_a_store_with_nothing_in_it(file):
    file.with_suffix(".sqlite").touch()
    assert swept(file).exit_code == 0


def test_the_verb_writes_resumes_and_refuses_to_overwrite(file, tmp_path):
    first = swept(file, "--out", tmp_path / "answer.nc")
    assert first.exit_code == 0
    assert first.stdout.startswith("15 points, 0 failed; kept in")
    with xr.open_dataset(tmp_path / "answer.nc") as back:
        xr.testing.assert_equal(back, expected())
        assert back.test_accuracy.attrs["units"] == "1"
        assert back.attrs["producer"] == "predict"
    again = swept(file)
    assert again.exit_code == 2
    assert "grid.sqlite exists; add --resume" in again.stderr
    assert swept(file, "--resume", "--out", tmp_path / "answer.csv").exit_code == 0
    lines = (tmp_path / "answer.csv").read_text().splitlines()
    assert len(lines) == 16
    assert lines[0].startswith("lam,t,test_accuracy")


@pytest.mark.parametrize("out", ["answer.xls", "no/answer.nc"])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_computed(file, tmp_path, out):
    result = swept(file, "--out", tmp_path / out)
    assert result.exit_code == 2
    assert "cannot be written" in result.stderr
    assert not file.with_name("grid.sqlite").exists()


def test_parquet_holds_the_table(file, tmp_path):
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    assert swept(file, "--out", tmp_path / "answer.parquet").exit_code == 0
    assert len(pandas.read_parquet(tmp_path / "answer.parquet")) == 15


def test_failed_points_are_reported_with_their_reason(file):
    file.write_text(
        TEXT.replace("t = 1.0\n", "").replace("t = [0.5, 1.0, 1.5]", "theta = [0.1, 0.45]")
    )
    result = swept(file)
    assert result.exit_code == 0
    assert "10 points, 2 failed" in result.stdout
    assert "the PageRank series diverges" in result.stderr


def test_if_every_point_fails_the_status_says_so(file):
    file.write_text(
        TEXT.replace("t = 1.0\n", "").replace("t = [0.5, 1.0, 1.5]", "theta = [0.6, 0.7]")
    )
    result = swept(file)
    assert result.exit_code == 2
    assert "10 points, 10 failed" in result.stdout


def test_ctrl_c_ends_with_a_sentence_and_resumes(file, monkeypatch):
    file.write_text(TEXT.replace("symmetrize = true\n", "") + "symmetrize = [true, false]\n")
    done = []

    def interrupted(producer, block):
        if done:
            raise KeyboardInterrupt
        done.append(block)
        return compute(producer, block)

    monkeypatch.setattr(sweep_run, "compute", interrupted)
    stopped = swept(file)
    assert stopped.exit_code == 130
    assert "15 of 30 points were finished and are kept in" in stopped.stderr
    assert "same command with --resume" in stopped.stderr
    monkeypatch.setattr(
        sweep_run, "compute", lambda *arguments: (done.append(arguments), compute(*arguments))[1]
    )
    assert swept(file, "--resume").exit_code == 0
    assert len(done) == 2


def test_a_name_of_a_filter_is_no_formula_in_csv(file, tmp_path):
    filters = 'filter = [{name = "=1+1", t = 1.0}, {name = "plain", t = 2.0}]'
    file.write_text(TEXT.replace("t = 1.0\n", "").replace("t = [0.5, 1.0, 1.5]", filters))
    assert swept(file, "--out", tmp_path / "a.csv").exit_code == 0
    rows = (tmp_path / "a.csv").read_text().splitlines()[1:]
    assert [row.split(",")[1] for row in rows] == ["'=1+1", "plain"] * 5
    assert [float(row.split(",")[0]) for row in rows] == sorted([0.0, 0.5, 1.0, 1.5, 2.0] * 2)
