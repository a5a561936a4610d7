"""What is printed: every digit for machines, every number for people, the inputs beside the answers."""

import csv
import io
import json

import numpy as np
import pytest
from helpers import run
from problems import OPTIONS

import gcnlimit as gl
from gcnlimit.cli import output
from gcnlimit.cli.output import as_text, say_first
from gcnlimit.results.text import table


@pytest.mark.parametrize(
    "words",
    [
        ("predict", *OPTIONS, "--t", "1"),
        ("bayes", *OPTIONS),
        ("tune", *OPTIONS, "--free", "t=0:10"),
        (
            "simulate",
            *OPTIONS,
            "--t",
            "1",
            "--nodes",
            "100",
            "--degree",
            "20",
            "--trials",
            "2",
            "--workers",
            "1",
        ),
    ],
    ids=lambda words: words[0],
)
def test_csv_and_json_hold_the_same_rows_with_the_inputs(words):
    rows = json.loads(run(*words, "--output", "json").stdout)
    assert rows == json.loads(run(*words, "--json").stdout)
    assert [rows[0][name] for name in ("alpha", "lam", "mu", "rho", "directed")] == [
        4.0,
        1.0,
        2.0,
        0.1,
        True,
    ]
    (read,) = csv.DictReader(io.StringIO(run(*words, "--output", "csv").stdout))
    assert list(read) == list(rows[0])
    for name, value in rows[0].items():
        if isinstance(value, float):
            assert float(read[name]) == value


def test_what_was_computed_can_be_computed_again_from_a_row():
    (row,) = json.loads(
        run("predict", *OPTIONS, "--c", "0.5,1.5", "--reg", "2", "--loss", "hinge", "--json").stdout
    )
    data = gl.CSBM(**{name: row[name] for name in ("alpha", "lam", "mu", "rho", "directed")})
    gcn = gl.GCN(gl.Residual(row["c"]), row["loss"], row["reg"], row["symmetrize"])
    assert row["test_accuracy"] == gl.predict(data, gcn).test_accuracy


def test_logarithmic_ranges():
    rows = json.loads(
        run("predict", *OPTIONS, "--t", "1", "--reg", "1e-2:1e4:4:log", "--json").stdout
    )
    assert [row["reg"] for row in rows] == pytest.approx([1e-2, 1.0, 1e2, 1e4])
    for bad in ("0:1:3:log", "-1:1:3:log", "1:2:3:cubic", "1:inf:3", "1:2:0"):
        assert run("predict", *OPTIONS, "--t", "1", "--reg", bad).exit_code == 2


NUMBERS = {
    f"long heading {k}": [f"{value:.6g}" for value in np.random.default_rng(k).random(3)]
    for k in range(12)
}


@pytest.mark.parametrize("width", [20, 60, 200])
def test_a_table_keeps_every_number_at_every_width(width):
    columns = {"method": ["PCA", "all filters", "best"]} | NUMBERS
    text = table(columns, width=width)
    words = text.split()
    assert all(cell in words for cells in NUMBERS.values() for cell in cells)
    assert max(map(len, text.splitlines())) <= max(width, len("all filters   long heading 10"))


def test_what_is_not_known_is_a_dash_and_small_numbers_keep_their_digits():
    cells = [output._cell(value) for value in (None, float("nan"), 0.0, 1e-4, -1.5e-5, 3, "PCA")]
    assert cells == ["-", "-", "0", "0.0001", "-1.500e-05", "3", "PCA"]


def test_words_stand_to_the_left_and_numbers_to_the_right():
    text = table({"method": ["PCA", "diffusion"], "gap": ["0.07 ± 0.01", "-"], "to": ["b", "7"]})
    assert text.splitlines() == [
        "method              gap   to",
        "─" * 28,
        "PCA         0.07 ± 0.01   b",
        "diffusion             -   7",
    ]


def test_ten_thousand_rows_are_all_printed():
    shown = run(
        "bayes", "--alpha", "4", "--lam", "0:2:100", "--mu", "0.1:3:100", "--rho", "0.1"
    ).stdout
    assert len(shown.splitlines()) > 10_000


@pytest.mark.parametrize(
    "words",
    [
        ("predict", *OPTIONS, "--t", "0:2:5"),
        ("predict", *OPTIONS, "--t", "0:2:5", "--reg", "1,inf"),
        ("tune", *OPTIONS, "--lam", "0.5,1", "--free", "t=0:10"),
    ],
    ids=["curve", "curves", "tuned"],
)
def test_the_answer_is_drawn(tmp_path, words):
    done = run(*words, "--plot", tmp_path / "picture.svg")
    assert done.exit_code == 0, done.output
    assert ("Bayes-optimal" in (tmp_path / "picture.svg").read_text()) == ("--reg" not in words)


def test_the_ceiling_is_drawn_beside_the_answer(monkeypatch):
    figures = []
    monkeypatch.setattr(output, "write_picture", lambda figure, *_, **__: figures.append(figure))
    data = gl.CSBM(4, [0.5, 1.0, 1.5], 2.0, 0.1)
    answer, ceiling = gl.predict(data, gl.GCN(gl.Diffusion(1.0))), gl.bayes_optimal(data)
    output.draw_beside("here.svg", answer, ceiling.test_accuracy)
    here, above = figures[0].axes[0].lines
    for line, numbers in ((here, answer), (above, ceiling)):
        assert list(line.get_xdata()) == [0.5, 1.0, 1.5]
        assert list(line.get_ydata()) == list(numbers.test_accuracy)


@pytest.mark.parametrize(
    "axes", ["lam = [0.5, 1.0, 1.5]", "lam = [0.5, 1.0, 1.5]\nclasses = [2, 3]"]
)
def test_a_sweep_is_drawn(tmp_path, axes):
    file = tmp_path / "grid.toml"
    file.write_text(f'what = "bayes"\n[data]\nalpha = 4\nmu = 2\nrho = 0.1\n[axes]\n{axes}\n')
    done = run("sweep", file, "--plot", tmp_path / "grid.svg")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "grid.svg").stat().st_size > 1000


@pytest.mark.parametrize("count", [0, 2, 3, 4, 9])
def test_lines_that_are_not_shown_are_counted(count, capsys):
    say_first([f"line {k}" for k in range(count)], "more")
    said = capsys.readouterr().err.splitlines()
    assert said == [f"line {k}" for k in range(min(count, 3))] + [f"  and {count - 3} more"] * (
        count > 3
    )


BEFORE = ["", " ", "\t", "\r", "\n", "\u3000", "\xa0", "\ufeff", "\u200b", " \t"]


@pytest.mark.parametrize("sign", [*"=+-@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\ufe66"])
def test_a_cell_that_a_spreadsheet_would_run_is_text(sign):
    for before in BEFORE:
        assert as_text(f"{before}{sign}a") == f"'{before}{sign}a"


@pytest.mark.parametrize("cell", ["", "-1", "+1.5", " -2e-3", "a=1", "'=1", "1-2", "\xe9", 3, -1.5])
def test_another_cell_stays_as_it_is(cell):
    assert as_text(cell) == cell
