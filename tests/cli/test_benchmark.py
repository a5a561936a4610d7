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
    assert [row["method"] for row in rows] == ["linear-by-theory", "features"]
    assert rows[0]["reference"] > rows[1]["reference"]
    assert rows[0]["beside mine"] == rows[0]["reference"] - rows[1]["reference"]


def test_published_results_of_one_problem_are_ranked():
    rows = answer("--published", "--problem", "hubs")
    assert rows[0]["method"] in ("amp", "message-passing-network")
    assert [row["hubs"] for row in rows] == sorted((row["hubs"] for row in rows), reverse=True)


def test_an_unknown_method_is_named():
    done = CliRunner().invoke(app, ["benchmark", "--run", "magic"])
    assert done.exit_code == 2
    assert "magic" in done.output
