"""Evaluation: nothing to peek at, nothing lost when it is interrupted, failures told."""

import contextlib
import gc
import json
import math
import os
import secrets
import shutil
import subprocess
import sys
import time

import cheats
import numpy as np
import pytest

import gcnlimit as gl
from gcnlimit._runtime import progress
from gcnlimit.benchmark import Ranking, Run, Scores, evaluate, merge, published
from gcnlimit.benchmark.problems import as_problems
from gcnlimit.benchmark.scores import mean_of
from gcnlimit.benchmark.task import accuracy, score_table

CALLS = []


def centroids(task):
    """Class centroids of the features, counted."""
    CALLS.append(task.problem)
    if len(CALLS) == 3:
        raise KeyboardInterrupt
    return task.features @ (task.features.T @ task.targets)


def arrays_in_reach():
    """Every array that this process can reach, by its identity."""
    parts = gc.get_referents(*gc.get_objects())
    return {id(part): part for part in parts if type(part) is np.ndarray}


class Peeking:
    """Scores that look for an array which agrees with all known labels, and says more.

    Arrays that were there before, such as those that other tests have left behind, do not count. They are kept, so that no
    new one takes the place of one of them.
    """

    def __init__(self):
        self.before = arrays_in_reach()

    def __call__(self, task):
        known, n = task.labelled_mask, task.labels.size
        for place, array in arrays_in_reach().items():
            if place in self.before or array.shape != (n,) or array.dtype.kind not in "if":
                continue
            classes = np.asarray(array > 0).astype(int)
            if (
                np.array_equal(classes[known], task.labels[known])
                and len(np.unique(array[~known])) > 1
            ):
                return classes - 0.5
        return np.zeros(n)


def test_hidden_labels_are_nowhere_while_a_model_runs():
    problem = as_problems("reference")[0]
    left = [
        problem.truth("small", graph).astype(float) for graph in range(2)
    ]  # by another test of this process
    scores = evaluate(Peeking(), problem, size="small", graphs=2)
    assert [run.accuracy for run in scores.runs] == [0.5, 0.5]
    assert len(left) == 2


class Comparing:
    """Looks whether an array that came since agrees with classes it knows, or is opposite; those of the last nodes count."""

    def __init__(self, truth):
        self.truth, self.agrees = truth, []
        self.before = arrays_in_reach()

    def __call__(self, task):
        new = self.truth[task.new_mask] > 0
        for place, array in arrays_in_reach().items():
            if (
                place not in self.before
                and array.ndim == 1
                and array.size in (new.size, self.truth.size)
            ):
                self.agrees.append(np.mean(np.asarray(array[-new.size :] > 0) == new) in (0.0, 1.0))
        return np.zeros(self.truth.size)


def test_classes_of_a_new_graph_are_nowhere_while_a_model_runs():
    problem = as_problems("inductive")[0]
    comparing = Comparing(problem.truth("small"))
    assert evaluate(comparing, problem, size="small", graphs=1).runs[0].accuracy == 0.5
    assert comparing.agrees
    assert not any(comparing.agrees)
    kept = [problem.truth("small").astype(float)]
    comparing(problem.task("small"))
    assert any(comparing.agrees)
    assert len(kept) == 1


def test_the_same_search_finds_labels_that_are_kept():
    peeking, problem = Peeking(), as_problems("reference")[0]
    task, truth = problem.task("small"), [problem.truth("small").astype(float)]
    assert np.mean((peeking(task) > 0) == truth[0]) == 1.0


def judged(model, **options):
    """One small graph of a secret seed."""
    return evaluate(
        model, "reference", size="small", graphs=1, seed=secrets.randbits(64), **options
    )


def test_with_a_seed_of_the_judge_nothing_leads_to_the_hidden_labels(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    scores = evaluate(
        cheats.every,
        "reference",
        size="small",
        graphs=1,
        seed=secrets.randbits(64),
        store="judge.txt",
    )
    assert scores.runs[0].accuracy == 0.5


HONEST = [
    "array_protocol",
    "subclass",
    "from_descriptors",
    "shadowed",
    "patches_writing",
    "at_exit",
    "from_files_of_the_judge",
]
OTHERS = [
    "from_environment",
    "patched",
    "forks",
    "searched",
    "by_order",
    "from_its_seed",
    "answers_later",
    "patches_numpy",
    "from_the_time",
    "from_generators",
    "by_side_channels",
    "stops_its_watch",
]  # of the same ways in
HONEST += [pytest.param(cheat, marks=pytest.mark.slow) for cheat in OTHERS]
BY_CHANCE = {"by_order", "by_side_channels"}  # their scores are guesses


@pytest.mark.parametrize("cheat", HONEST)
def test_a_cheat_has_the_accuracy_of_its_scores(cheat, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = judged(getattr(cheats, cheat)).runs[0]
    assert run.accuracy == pytest.approx(0.5, abs=0.06 if cheat in BY_CHANCE else 0.0) or run.error


SENTENCES = {
    "reduced": "return real numbers",
    "raised": "ForgingError",
    "speechless": "SilentError: an error that cannot be shown",
    "wrong_shape": "return a row for each",
    "infinite": "NaN or infinite",
    "forged_message": "ended without scores",
    "forged_result": "ended without scores",
    "exits": "ended without scores",
    "leaves": "SystemExit",
    "left_behind": "ended without scores",
    "kills_its_watch": "ended without scores",
    "oversized": "eeee",
    "closes": "ended without scores",
    "points_nowhere": "ended without scores",
    "masked": "masked entries",
    "lazy": "rectangular array",
    "speechless_refusal": "an error that cannot be shown",
    "stops_when_shown": "ended without scores",
    "wordless": "ended without scores",
    "wordless_refusal": "GCNLimitError:",
    "takes_the_answer": "ended without scores",
}


SOME = {"forged_result", "kills_its_watch", "lazy", "wordless"}  # the others are of these kinds


@pytest.mark.parametrize(
    "cheat",
    [pytest.param(c, marks=[pytest.mark.slow] * (c not in SOME)) for c in SENTENCES],
)
def test_a_cheat_without_scores_ends_in_one_sentence(cheat, capfd):
    (failed,) = judged(getattr(cheats, cheat)).failures
    assert "Traceback" not in capfd.readouterr().err
    assert SENTENCES[cheat] in failed.error
    assert np.isnan(failed.accuracy)
    assert len(failed.error) <= 500
    assert "\n" not in failed.error


def test_a_model_that_closes_its_channel_leaves_no_traceback(capfd):
    for cheat in (cheats.closes_its_answer, cheats.breaks_its_answer):
        (failed,) = judged(cheat).failures
        assert "ended without scores" in failed.error
        assert "Traceback" not in capfd.readouterr().err


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a daemon stays")
@pytest.mark.parametrize(
    "cheat", ["daemon", pytest.param("daemon_of_none", marks=pytest.mark.slow)]
)
def test_a_daemon_that_a_model_has_started_ends_with_it(cheat, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (run,) = judged(getattr(cheats, cheat), timeout=3.0).runs
    assert run.accuracy == 0.5 or "more than 3 s" in run.error
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "daemon").read_text()), 0)


@pytest.mark.parametrize("cheat", ["hangs", "stops"])
def test_a_model_that_never_answers_is_ended_in_time(cheat):
    (failed,) = judged(getattr(cheats, cheat), timeout=1.5).failures
    assert failed.error == "the model took more than 1.5 s; pass another timeout if it needs more"


def test_a_module_that_a_model_left_in_the_folder_is_not_found_first(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "numpy.py").write_text("raise SystemExit('forged')")
    assert "masked entries" in judged("cheats:masked").failures[0].error


def test_a_task_that_nobody_reads_is_not_waited_for(monkeypatch, tmp_path):
    """A process that the model leaves behind keeps the pipe of the task open, and does not read it."""
    left = "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(10)\ntime.sleep(100)\n"
    (tmp_path / "sitecustomize.py").write_text(left)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    (failed,) = judged("cheats:exits", timeout=1.0).failures
    assert "more than 1 s" in failed.error


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan, "1", [1.0, 2.0]])
def test_a_timeout_is_a_number_of_seconds(wrong):
    with pytest.raises(gl.ParameterError, match="timeout"):
        judged(cheats.exits, timeout=wrong)


def test_a_model_that_interrupts_its_judge_has_no_score():
    with pytest.raises(KeyboardInterrupt):
        judged(cheats.signals)


def test_a_model_given_by_name_is_never_imported_by_its_judge():
    assert judged("cheats_at_import:model").runs[0].accuracy == 0.5
    assert "cheats_at_import" not in sys.modules


@pytest.mark.parametrize(
    "wrong", ["cheats:nothing", "no_such_module:model", "cheats", ":", "json.decoder:no.such"]
)
def test_a_name_that_leads_to_no_model_is_refused_in_a_sentence(wrong):
    (failed,) = judged(wrong).failures
    assert "write 'module:function'" in failed.error or "not callable" in failed.error
    if wrong != "cheats":
        with pytest.raises(gl.ParameterError, match="module:function"):
            evaluate(wrong, "reference", size="small", graphs=1)


@pytest.mark.parametrize("user", ["no-such-user", ""])
def test_a_user_who_cannot_run_a_model_is_refused(user):
    (failed,) = judged(cheats.exits, user=user).failures
    assert "user = " in failed.error


def test_a_seed_below_0_is_refused_by_its_name():
    with pytest.raises(gl.ParameterError, match=r"^seed = -1 "):
        evaluate(centroids, "reference", size="small", seed=-1)


def test_a_user_without_a_seed_is_refused():
    with pytest.raises(gl.ParameterError, match="seed=secrets"):
        evaluate(centroids, "reference", size="small", user="nobody")


def test_a_model_that_cannot_be_sent_is_told_the_ways_out():
    """One process more does not help: with a seed the model always has its own."""
    with pytest.raises(gl.ParameterError, match=r"def at the top level .*, or leave out the seed$"):
        evaluate(lambda task: task.targets, "reference", size="small", seed=3)


def can_run_as_nobody():
    """Whether this process is that of root, and nobody can read the interpreter."""
    if os.name == "nt" or os.geteuid() != 0:
        return False
    with contextlib.suppress(OSError, ValueError, LookupError):
        imports = [sys.executable, "-c", "import numpy"]
        return subprocess.run(imports, user="nobody", check=False).returncode == 0
    return False


@pytest.mark.skipif(not can_run_as_nobody(), reason="needs root, and Python where all can read it")
def test_a_model_of_another_user_cannot_read_the_memory_of_its_judge():
    assert judged("cheats:memory").runs[0].accuracy == 0.5
    (failed,) = judged("cheats:memory", user="nobody").failures
    assert "PermissionError" in failed.error


JUDGE = """
import secrets, time, gcnlimit as gl
for model in ("cheats:memory", "cheats:traces", "cheats:copies"):
    seed = secrets.randbits(64)
    scores = gl.benchmark.evaluate(model, "reference", size="small", graphs=1, seed=seed, timeout=60)
    print(scores.failures[0].error)
seed = secrets.randbits(64)
gl.benchmark.evaluate("cheats:left_to_read", "reference", size="small", graphs=1, seed=seed, timeout=60)
time.sleep(1.0)  # between two models
"""


# root without this capability is to other processes as an ordinary user is
NOT_ROOT = [] if os.geteuid() else ["setpriv", "--bounding-set=-sys_ptrace"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a model can read its judge")
@pytest.mark.skipif(bool(NOT_ROOT) and not shutil.which("setpriv"), reason="needs setpriv")
def test_a_judge_that_is_not_root_cannot_be_read_or_traced_by_a_model_of_the_same_user(
    tmp_path,
):
    judge = subprocess.run(
        [*NOT_ROOT, sys.executable, "-c", JUDGE],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    memory, traced, copied = judge.stdout.splitlines()
    assert "PermissionError" in memory
    assert "Operation not permitted" in traced
    assert "Operation not permitted" in copied
    assert not (tmp_path / "opened").exists()


def test_workers_whose_memory_a_model_could_read_are_refused():
    """While a worker starts its memory is open, and another model may run already."""
    with pytest.raises(gl.ParameterError, match=r"workers = 2 with a seed .* take workers=1"):
        judged(cheats.exits, workers=2)


@pytest.mark.parametrize(
    ("cheat", "seed"),
    [(cheats.drawn_again, None), (cheats.from_frames, 11), (cheats.from_files, 12)],
)
def test_each_cheat_succeeds_where_the_seed_is_to_be_found(cheat, seed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("seed 12")
    problem = as_problems("reference")[0]
    task, truth = problem.task("small", seed=seed), problem.truth("small", seed=seed)
    assert accuracy(score_table(cheat(task), *task.targets.shape), truth, task.test_mask) == 1.0


def test_a_seed_of_ones_own_gives_other_graphs():
    problem = as_problems("reference")[0]
    ours, theirs = problem.task("small", 0), problem.task("small", 0, seed=3)
    assert not np.array_equal(ours.labels, theirs.labels)
    assert np.array_equal(theirs.labels, problem.task("small", 0, seed=3).labels)


def test_an_interrupted_evaluation_resumes(tmp_path):
    CALLS.clear()
    options = {"size": "small", "graphs": 2, "store": tmp_path / "store.sqlite"}
    with pytest.raises(KeyboardInterrupt):
        evaluate(centroids, ["reference", "shallow"], **options)
    resumed = evaluate(centroids, ["reference", "shallow"], **options)
    assert CALLS == ["reference", "reference", "shallow", "shallow", "shallow"]
    fresh = evaluate(centroids, ["reference", "shallow"], size="small", graphs=2)
    assert [run.accuracy for run in resumed.runs] == [run.accuracy for run in fresh.runs]


def test_a_model_that_fails_costs_nothing_to_the_other_graphs():
    def fails_on_heterophily(task):
        return np.full(3, np.nan) if task.problem == "heterophily" else task.targets

    scores = evaluate(fails_on_heterophily, ["heterophily", "reference"], size="small", graphs=1)
    assert "shape (3,)" in scores.failures[0].error
    assert "fails_on_heterophily: 1 of 2 runs failed, the first on heterophily" in str(scores)
    assert scores.runs[1].accuracy == 0.5  # ties


def test_what_is_not_a_table_of_finite_scores_is_refused():
    with pytest.raises(gl.ParameterError, match="column for each of the 3 classes"):
        score_table(np.zeros(2), nodes=2, classes=3)
    with pytest.raises(gl.ParameterError, match="NaN"):
        score_table([np.nan, 1.0], nodes=2, classes=2)


def test_one_score_per_node_is_a_column_too_and_no_probability():
    scores = np.array([0.2, -3.0, 1e-9])
    column = score_table(scores[:, None], nodes=3, classes=2)
    np.testing.assert_array_equal(column, score_table(scores, nodes=3, classes=2))
    assert column.argmax(axis=1).tolist() == [1, 0, 1]
    for sure in ([0.2, 0.9, 1.0], [[0.2], [0.9], [0.7]], [0.0, 1.0, 1.0]):
        with pytest.raises(gl.ParameterError, match="return them minus 1/2"):
            score_table(sure, nodes=3, classes=2)


@pytest.mark.parametrize(
    "scores",
    [
        None,
        "x",
        [1j, 2.0],
        [object(), 1.0],
        (x for x in "ab"),
        np.zeros(2, "M8[s]"),
        np.zeros(2, "f8,f8"),
    ],
)
def test_scores_that_are_not_real_numbers_are_refused_in_one_sentence(scores):
    with pytest.raises(gl.ParameterError, match="return real numbers"):
        score_table(scores, nodes=2, classes=2)


def test_a_problem_of_your_own_has_accuracies_and_no_place():
    own = gl.benchmark.Problem("own", "another strength", gl.CSBM(4, 1.0, 3.0, 0.2))
    line = evaluate(lambda task: task.targets, own, size="small", graphs=1).lines[0]
    assert line.accuracy == 0.5
    assert np.isnan(line.place)
    with pytest.raises(gl.ParameterError, match="bayes_optimal"):
        own.exact  # noqa: B018


@pytest.mark.parametrize(
    "wrong", [{"problems": 3}, {"size": [3]}, {"seed": -1}, {"progress": "x"}, {"graphs": 0}]
)
def test_a_wrong_argument_is_refused_before_any_graph_is_drawn(wrong):
    with pytest.raises(gl.ParameterError):
        evaluate(
            lambda task: task.targets,
            **{"problems": "reference", "size": "small", "graphs": 1} | wrong,
        )


@pytest.mark.parametrize("wrong", [{"size": "huge"}, {"graph": -1}, {"seed": 0.5}])
def test_a_graph_that_does_not_exist_is_refused(wrong):
    problem = as_problems("reference")[0]
    for drawn in (problem.task, problem.truth):
        with pytest.raises(gl.ParameterError, match=next(iter(wrong))):
            drawn(**{"size": "small"} | wrong)


def test_results_survive_the_disk_and_merge(tmp_path):
    failed = Run("mine", "reference", "small", 0, float("nan"), 1.0, "out of memory")
    good = Run("mine", "reference", "small", 0, 0.9, 1.0)
    Scores((failed,)).save(tmp_path / "a.json")
    Scores((good,)).save(tmp_path / "b.json")
    for order in ("ab", "ba"):
        merged = merge([Scores.load(tmp_path / f"{name}.json") for name in order])
        assert merged.runs == (good,)


@pytest.mark.parametrize("first", [True, False])
def test_published_results_do_not_replace_mine_of_the_same_name(first):
    mine = Scores(tuple(Run("GCN", "reference", "standard", graph, 0.9, 1.0) for graph in range(5)))
    both = merge([mine, published()] if first else [published(), mine])
    found = {line.method: line.accuracy for line in both.lines if line.problem == "reference"}
    assert found["GCN"] == pytest.approx(0.9)
    assert found["GCN, published"] < 0.89
    assert found["GIN"] < 0.89


@pytest.mark.parametrize(
    "change",
    [
        {"accuracy": 7},
        {"accuracy": "x"},
        {"accuracy": None},
        {"method": 3},
        {"method": "\x1b[2J"},
        {"problem": "a\nb"},
        {"problem": None},
        {"size": "huge"},
        {"graph": -1},
        {"seconds": -1},
        {"other": 1},
    ],
    ids=str,
)
def test_results_that_cannot_be_are_refused(change, tmp_path):
    path = tmp_path / "mine.json"
    Scores((Run("mine", "deep", "small", 0, 0.8, 1.0),)).save(path)
    content = json.loads(path.read_text())
    content["runs"][0] |= change
    path.write_text(json.dumps(content))
    with pytest.raises(gl.ParameterError, match="is not a file of results"):
        Scores.load(path)


def test_what_others_write_in_a_file_of_results_moves_no_cursor(tmp_path):
    failed = Run("mine", "reference", "small", 0, float("nan"), 1.0, "\x1b[2Jno memory\nfor it")
    Scores((failed,)).save(tmp_path / "a.json")
    assert str(Scores.load(tmp_path / "a.json")).endswith("[2Jno memory for it")


def made(method, values, problem="deep"):
    return [Run(method, problem, "small", graph, value, 1.0) for graph, value in enumerate(values)]


def test_a_ranking_compares_on_the_problems_that_all_ran():
    easy, hard = made("mine", [0.9, 0.9]), made("other", [0.8, 0.8])
    more = made("other", [0.99, 0.99], "reference")
    ranking = Ranking.of(Scores((*hard, *more, *easy)), mine=["mine"])
    assert ranking.common == ("deep",)
    assert ranking.methods == ("mine", "other")
    gain, error = ranking.difference("other", "mine")
    assert gain == pytest.approx(-0.1)
    assert error == pytest.approx(2**0.5 * as_problems("deep")[0].exact.scatter / 2000**0.5 / 2)


def test_what_two_methods_share_on_a_graph_is_not_an_error_of_their_difference():
    luck = np.array([-0.05, 0.0, 0.05])
    both = Ranking.of(Scores((*made("a", 0.8 + luck), *made("b", 0.79 + luck))))
    assert both.difference("a", "b")[1] < 0.01


def test_on_a_problem_of_your_own_the_error_is_the_scatter_that_was_measured():
    """No scatter is recorded there: with one graph more than were measured, the variance is that of the mean."""
    gains = np.array([0.03, 0.07, 0.02])
    runs = (*made("a", 0.8 + gains, "mine"), *made("b", np.full(3, 0.8), "mine"))
    gain, error = Ranking.of(Scores(runs)).difference("a", "b")
    assert gain == pytest.approx(gains.mean())
    assert error == pytest.approx(gains.std() / 3**0.5)


def test_seconds_are_those_of_the_model():
    def slow(task):
        time.sleep(0.2)
        return task.targets

    seconds = evaluate(slow, "reference", size="small", graphs=1).runs[0].seconds
    assert 0.2 <= seconds < 60.0


def test_results_are_known_as_published_by_what_they_are(tmp_path):
    """Saved, loaded and merged again, also in part, they neither double nor become mine."""
    published().save(tmp_path / "a.json")
    loaded = Scores.load(tmp_path / "a.json")
    assert len(merge([loaded, published()]).runs) == len(published().runs)
    part = Scores(tuple(run for run in loaded.runs if run.method == "GCN"))
    mine = Scores((Run("GCN", "reference", "standard", 0, 0.9, 1.0),))
    names = {run.method for run in merge([mine, part]).runs}
    assert names == {"GCN", "GCN, published"}


def test_a_misspelt_method_of_mine_is_refused():
    with pytest.raises(gl.ParameterError, match=r"mine = 'GNC' has no run; choose among .*'GCN'"):
        Ranking.of(published(), mine=["GNC"])


def test_tables_fit_a_terminal_and_say_what_cannot_be_compared():
    mine = Scores(
        tuple(
            Run("mine", problem.name, "small", 0, 0.6, 1.0) for problem in gl.benchmark.problems()
        )
    )
    both = merge([mine, published()])
    standard, small = (str(Ranking.of(both, ["mine"], size)) for size in ("standard", "small"))
    assert "not comparable: yours (mine) are small graphs" in standard
    assert "these standard; use --size standard (size='standard')" in standard
    assert (
        "not comparable: yours are small graphs, 22 other methods ran on standard graphs" in small
    )
    assert max(map(len, [*standard.splitlines(), *small.splitlines()])) <= 100
    assert max(map(len, str(both).splitlines())) <= 80
    # one block of rows for each size, repeated for each group of problems
    rows = [line.split("  ")[0] for line in str(both).splitlines()]
    assert rows.count("mine") < rows.count("Bayes (exact)") == rows.count("features (exact)")


def test_exact_values_stand_beside_a_score_and_a_dash_where_there_is_none():
    own = Run("mine", "own", "small", 0, 0.6, 1.0)
    failed = Run("mine", "reference", "small", 0, float("nan"), float("nan"), "broke")
    text = str(Scores((own, failed)))
    head, _, features, linear, mine, best = (row.split() for row in text.splitlines()[1:7])
    assert head == ["method", "place", "graphs", "seconds", "own", "reference"]
    exact = as_problems("reference")[0].exact
    for row, value in ((features, exact.features), (linear, exact.linear), (best, exact.bayes)):
        assert row[1:] == ["(exact)", row[2], "-", "-", "-", f"{100 * value:.1f}"]
    assert [features[0], linear[0], best[0], best[2]] == ["features", "linear", "Bayes", "1.000"]
    assert mine == ["mine", "-", "1", "1.00", "60.0", "-"]
    assert "nan" not in text
    assert "inf" not in text


def test_a_run_says_what_is_left_where_there_is_no_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "FIRST", 0.02)
    monkeypatch.setattr(progress, "EVERY", 0.02)
    monkeypatch.setattr(progress, "_MOVES", 0.01)
    evaluate(
        # longer than the 0.2 s of a look that began in an earlier test
        lambda task: time.sleep(0.3) or task.features[:, 0],
        "reference",
        size="small",
        graphs=3,
        name="slow",
    )
    told = capsys.readouterr().err.splitlines()
    assert all(line.startswith("slow: ") for line in told)
    assert any("slow: 2 of 3 graphs" in line and line.endswith(" s left") for line in told)
    evaluate(lambda task: task.features[:, 0], "reference", size="small", graphs=2, progress=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("problem", ["reference", "three-classes"])
def test_classes_instead_of_scores_are_refused_and_made_scores(problem):
    """As scores, classes 0 and 1 would be a tie and a certainty: a wrong accuracy."""

    def constant(task):
        return np.zeros(task.labels.size, int)

    def as_told(task):
        return np.eye(task.classes)[constant(task)]

    told = gl.benchmark.evaluate(constant, problem, size="small", graphs=1)
    assert "which are classes; return scores, such as numpy.eye(" in str(told)
    assert gl.benchmark.evaluate(as_told, problem, size="small", graphs=1).lines[0].accuracy > 0.2


def test_the_error_of_a_mean_is_known_from_two_graphs_on():
    assert mean_of([0.8, 0.9]) == pytest.approx((0.85, 0.05))
    assert mean_of([0.8, math.nan]) == (0.8, math.inf)
    mean, error = mean_of([math.nan])
    assert (math.isnan(mean), error) == (True, math.inf)


def test_a_method_that_failed_everywhere_is_ranked_by_dashes_and_its_reason():
    good = [Run("good", "deep", "small", k, a, 1.0) for k, a in enumerate([0.8, 0.82])]
    nan = float("nan")
    bad = [Run("<bad>", "deep", "small", k, nan, nan, "ValueError: shapes") for k in range(2)]
    ranking = Ranking.of(Scores((*bad, *good)), mine=["<bad>"])
    text = str(ranking)
    assert ranking.common == ("deep",)
    assert [row.split() for row in text.splitlines()[2:4]] == [
        ["1", "good", "0.696", "81.0", "±", "1.0"],
        ["-", "*", "<bad>", "-", "-"],
    ]
    assert text.endswith("<bad>: 2 of 2 runs failed, the first on deep: ValueError: shapes")
    assert ranking.as_dict()["rank"] == [1, None]
    assert "&lt;bad&gt;" in ranking._repr_html_()
    alone = Ranking.of(Scores(tuple(bad)))
    assert "ValueError: shapes" in str(alone)
    elsewhere = Ranking.of(merge([Scores(tuple(bad)), published()]), ["<bad>"], "standard")
    assert "not comparable: yours (<bad>) are small graphs" in str(elsewhere)


def test_a_console_and_a_notebook_show_the_table():
    scores = Scores(tuple(Run("mine", "deep", "small", k, 0.8, 1.0) for k in range(500)))
    assert repr(scores) == str(scores)
    assert scores._repr_html_() == f"<pre>{scores}</pre>"


@pytest.mark.parametrize("bad", [[], {}, np.zeros(2)], ids=repr)
def test_names_of_a_ranking_are_asked_for(bad):
    ranking = Ranking.of(published())
    for ask in (
        lambda: ranking.mean(bad, "reference"),
        lambda: ranking.mean("GCN", bad),
        lambda: ranking.mean_place(bad),
        lambda: ranking.difference("GCN", bad),
        lambda: Ranking.of(published(), mine=(bad,)),
        lambda: Scores.load([bad]),
        lambda: merge([bad]),
        lambda: merge(np.array(1.0)),
    ):
        with pytest.raises(gl.ParameterError):
            ask()
