"""The verb benchmark: list, run, merge."""

import csv
import json

from helpers import answer, run

from gcnlimit.benchmark import Scores
from gcnlimit.benchmark.problems import as_problems


def listed(*arguments):
    return json.loads(answer("benchmark", *arguments, "--json"))


def test_problems_are_listed_with_their_exact_numbers():
    (row,) = listed("--problem", "shallow")
    assert row["bayes"] == as_problems("shallow")[0].exact.bayes
    assert row["alpha"] == as_problems("shallow")[0].data.alpha
    assert row["directed"] is as_problems("shallow")[0].data.directed
    table = answer("benchmark", "--problem", "shallow")
    assert table.split()[-1] == f"{100 * row['bayes']:.1f}"


def test_results_of_two_files_stand_in_one_table(tmp_path):
    files = [tmp_path / "a.json", tmp_path / "b.json"]
    for file, method in zip(files, ("features", "linear-by-theory"), strict=True):
        listed("--run", method, "--problem", "reference", "--graphs", "1", "--out", str(file))
    rows = listed("--merge", str(files[0]), "--merge", str(files[1]))
    assert [row["method"] for row in rows] == ["linear-by-theory", "features"]
    assert rows[0]["reference"] > rows[1]["reference"]
    assert rows[0]["beside_mine"] == rows[0]["reference"] - rows[1]["reference"]


def test_names_of_others_are_no_formulas_and_take_the_place_of_no_column(tmp_path):
    names = ["=1+1", "method", "rank", "reference"]
    run_of = {"method": "@m", "size": "small", "graph": 0, "accuracy": 0.5, "seconds": 1}
    runs = [run_of | {"problem": name, "error": ""} for name in names]
    file = tmp_path / "theirs.json"
    file.write_text(json.dumps({"suite": 1, "runs": runs}))
    (row,) = csv.DictReader(answer("benchmark", "--merge", file, "--output", "csv").splitlines())
    assert [*row][-4:] == ["reference", "'=1+1", "problem method", "problem rank"]
    assert (row["method"], row["rank"]) == ("'@m", "1")
    file.write_text(json.dumps({"suite": 1, "runs": runs[1:3]}))  # so few have a column each
    for table in (answer("benchmark", "--merge", file), str(Scores.load(file))):
        assert "problem method" in table


def test_published_results_of_one_problem_are_ranked():
    rows = listed("--published", "--problem", "hubs")
    assert rows[0]["method"] in ("amp", "belief-propagation", "message-passing-network")
    assert [row["hubs"] for row in rows] == sorted((row["hubs"] for row in rows), reverse=True)


def test_an_unknown_method_is_named():
    done = run("benchmark", "--run", "magic")
    assert done.exit_code == 2
    assert "magic" in done.output
