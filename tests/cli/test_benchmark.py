"""The verb benchmark: list, run, merge."""

import json

from click.testing import CliRunner

from gcnlimit.benchmark.problems import as_problems
from gcnlimit.cli.app import app


def answer(*arguments):
    done = CliRunner().invoke(app, ["benchmark", *arguments, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_problems_are_listed_with_their_exact_numbers():
    (row,) = answer("--problem", "shallow")
    assert row["bayes"] == as_problems("shallow")[0].exact.bayes
    assert row["alpha"] == as_problems("shallow")[0].data.alpha


def test_results_of_two_files_stand_in_one_table(tmp_path):
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, method in zip(files, ("features", "linear-by-theory"), strict=True):
        answer("--run", method, "--problem", "reference", "--graphs", "1", "--out", str(file))
    rows = answer("--merge", str(files[0]), "--merge", str(files[1]))
    assert [row["method"] for row in rows] == ["features", "linear-by-theory"]
    assert rows[0]["accuracy"] < rows[1]["accuracy"]


def test_an_unknown_method_is_named():
    done = CliRunner().invoke(app, ["benchmark", "--run", "magic"])
    assert done.exit_code == 2
    assert "magic" in done.output
