"""Streams that are missing, closed or full, and Ctrl-C at any moment: an exit status, at most one line, no traceback."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from helpers import wait_for
from problems import OPTIONS

import gcnlimit as gl
from gcnlimit._runtime import progress
from gcnlimit._runtime.processes import run
from gcnlimit.cli.app import VERBS

QUIET = (
    "from gcnlimit._runtime import progress; progress.FIRST = 1e6"  # seconds: on a busy machine too
)
GCNLIMIT = [sys.executable, "-c", f"{QUIET}; from gcnlimit.cli import main; main()"]
PREDICT = [*GCNLIMIT, "predict", *OPTIONS, "--t", "1"]
WRONG = [*GCNLIMIT, "predict", *OPTIONS, "--t", "x"]
DATA = gl.CSBM(4, 1, 2, 0.1)


def shell(command, redirected):
    line = " ".join(f"'{word}'" for word in command)
    return subprocess.run(
        ["bash", "-c", f"{line} {redirected}"], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("to", ["2>&-", "2> /dev/full"])
def test_what_is_said_on_a_lost_standard_error_costs_nothing(to):
    done = shell(PREDICT, to)
    assert (done.returncode, done.stderr) == (0, "")
    assert "0.8" in done.stdout
    assert shell(WRONG, to).returncode == 2


def test_a_full_standard_output_is_one_line():
    done = shell(PREDICT, "> /dev/full")
    assert (done.returncode, done.stderr) == (1, "Error: the output: No space left on device\n")


def test_without_standard_output_nothing_is_said():
    done = shell(PREDICT, ">&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_pictures_need_no_display(tmp_path, monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "misspelt")
    picture = tmp_path / "p.png"
    done = shell([*PREDICT[:-1], "0:1:3", "--plot", str(picture)], "")
    assert (done.returncode, done.stderr, picture.exists()) == (0, "", True)


LINES = {
    "bayes": OPTIONS,
    "benchmark": ["--output", "csv"],
    "classify": ["g.npz", "--out", "c.csv"],
    "compare": ["--help"],
    "describe": ["g.npz", "--json"],
    "explore": ["nowhere.npz"],
    "figure": [],
    "predict": [*OPTIONS, "--t", "0:2:30", "--output", "csv"],
    "recommend": ["g.npz"],
    "reproduce": ["--help"],
    "sample": [*OPTIONS, "--nodes", "40", "--degree", "8", "--out", "s.npz"],
    "simulate": [*OPTIONS, "--t", "1", "--nodes", "100", "--degree", "10", "--trials", "2"],
    "sweep": ["nowhere.toml"],
    "tune": [*OPTIONS, "--free", "t=0:2"],
    "--version": [],
}


def test_there_is_a_line_for_every_verb():
    assert {verb for verb in LINES if not verb.startswith("-")} == set(VERBS)


@pytest.mark.slow
@pytest.mark.parametrize("verb", LINES)
def test_no_verb_fails_bare_where_its_streams_do(verb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gl.sample(DATA, nodes=200, degree=10, seed=0).save("g.npz")
    line = [*GCNLIMIT, verb, *LINES[verb]]
    usual = shell(line, "")
    full = {1} if usual.stdout else {usual.returncode}
    wanted = {
        ">&-": {usual.returncode},
        "2>&-": {usual.returncode},
        "<&- >&- 2>&-": {usual.returncode},
        "2> /dev/full": {usual.returncode},
        "> /dev/full": full,
        "> /dev/full 2>&1": {*full, usual.returncode},
        "| true": {usual.returncode, 1},
    }
    for to, status in wanted.items():
        done = shell(line, to if "|" not in to else f"{to}; exit ${{PIPESTATUS[0]}}")
        assert done.returncode in status, (to, done)
        assert "Traceback" not in done.stderr
        assert "Exception ignored" not in done.stderr


@pytest.mark.parametrize("stream", [None, open(os.devnull)])  # noqa: SIM115
def test_the_library_works_without_standard_error(stream, monkeypatch):
    if stream is not None:
        stream.close()
    monkeypatch.setattr(sys, "stderr", stream)
    gl.simulate(DATA, gl.GCN(gl.Diffusion(1.0)), nodes=60, degree=10, trials=2, workers=1)
    gl.sweep("predict", data=DATA, gcn=gl.GCN(gl.Diffusion(1.0)), axes={"lam": [1.0, 2.0]})
    monkeypatch.setattr(progress, "FIRST", 0.01)
    monkeypatch.setattr(progress, "_MOVES", 0.01)
    with progress.progress_bar("waiting", 3, show=True):
        time.sleep(0.05)


def test_workers_start_while_words_wait_for_a_full_standard_error(monkeypatch):
    results = []
    with contextlib.suppress(OSError), open("/dev/full", "w") as full:  # it cannot be closed well
        full.write("waits")
        monkeypatch.setattr(sys, "stderr", full)
        results += run([list, dict], workers=2)
    assert results == [[], {}]


@pytest.fixture
def impatient(monkeypatch):
    """Progress without a wait."""
    for name, seconds in (("FIRST", 0.02), ("EVERY", 0.02), ("_MOVES", 0.01)):
        monkeypatch.setattr(progress, name, seconds)


def test_where_there_is_no_terminal_a_line_says_now_and_then_what_is_done(impatient, capsys):
    bar, inside = (
        progress.progress_bar("Reading", 4, unit="rows"),
        progress.progress_bar("inside another", None),
    )
    with bar as moved, inside:
        moved.advance(3)
        wait_for(lambda: "3 of 4" in (lines := capsys.readouterr().err) and "inside" not in lines)


def test_what_is_counted_inside_tells_of_what_is_not(impatient, capsys):
    with (
        progress.progress_bar("comparing"),
        progress.progress_bar("fitting"),
        progress.progress_bar("tuning", 4, unit="batches") as inside,
    ):
        inside.advance(1)
        wait_for(lambda: "comparing, tuning: 1 of 4 batches" in capsys.readouterr().err)
    with progress.progress_bar("comparing"), progress.progress_bar("one", 1):
        wait_for(lambda: "comparing: 0 s\n" in capsys.readouterr().err)


def test_blocks_that_are_done_count_for_bars_of_blocks_alone():
    with (
        progress.progress_bar("drawing", 4, False, unit="graphs") as graphs,
        progress.progress_bar("features", 9, unit="blocks") as blocks,
    ):
        progress.block_done(2)
        assert (graphs.done, blocks.done) == (0, 2)


def test_progress_is_silenced_for_one_call_and_for_all(impatient, monkeypatch, capsys):
    with progress.progress_bar("silent", 4, False), progress.progress_bar("inside", 4):
        time.sleep(0.1)
    monkeypatch.setenv("GCNLIMIT_QUIET", "1")
    with progress.progress_bar("silent", 4):
        time.sleep(0.1)
    assert capsys.readouterr().err == ""
    with progress.progress_bar("asked for", 4, True):
        wait_for(lambda: "asked for: 0 of 4" in capsys.readouterr().err)


def test_a_line_on_a_terminal_is_removed_at_the_end(impatient, monkeypatch, capsys):
    monkeypatch.setattr(progress, "is_terminal", lambda stream: True)
    with progress.progress_bar("drawing") as bar:
        wait_for(lambda: bar.lines > 1)
    told = capsys.readouterr().err
    assert told.startswith("\rdrawing: 0 s\x1b[K")
    assert told.endswith("\r\x1b[K")
    assert "\n" not in told


DOORS = {
    "read": lambda i, y, path: gl.real.read(path),
    "fit": lambda i, y, path: gl.GraphClassifier().fit(i.features, y, graph=i.adjacency),
    "describe": lambda i, y, path: gl.describe(i.features, y, i.adjacency),
    "estimate": lambda i, y, path: gl.estimate(i.features, y, i.adjacency, method="likelihood"),
    "recommend": lambda i, y, path: gl.recommend(i.features, y, i.adjacency),
    "sample": lambda i, y, path: gl.sample(DATA, nodes=2000, degree=30),
    "one slow point": lambda i, y, path: gl.predict(DATA, gl.GCN(gl.PageRank(0.4), reg=1.0)),
    "many points": lambda i, y, path: gl.predict(
        DATA.replaced(lam=np.linspace(0.5, 1, 30_000)), gl.GCN(gl.Diffusion(1.0))
    ),
    "population": lambda i, y, path: gl.bayes_optimal(DATA, degree=5, population=500, sweeps=10),
    "tune": lambda i, y, path: gl.tune(
        DATA, gl.GCN(gl.PageRank(0.4), reg=1.0), {"theta": (0.1, 0.5)}
    ),
    "compare": lambda i, y, path: gl.compare(DATA, depth=2, order=3),
    "gap map": lambda i, y, path: gl.gap_map(
        DATA.replaced(lam=np.linspace(0.5, 1, 50)), gl.GCN(gl.Diffusion(1.0)), {"t": (0, 3)}
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("door", DOORS)
def test_every_door_has_a_bar_that_would_show_if_it_took_long(door, monkeypatch, tmp_path):
    model = gl.CSBM(alpha=4, lam=1.5, mu=3.0, rho=0.2, directed=False)
    instance = gl.sample(model, nodes=1000, degree=30, seed=0)
    y = np.where(instance.train_mask, instance.labels > 0, -1)
    gl.real.write(instance.to_dataset(), tmp_path / "e.csv", tmp_path / "n.csv")
    bars = []
    monkeypatch.setattr(progress, "_start_watching", lambda: bars.extend(map(str, progress._shown)))
    DOORS[door](instance, y, tmp_path / "e.csv")
    assert bars
    assert all(re.fullmatch(r"[a-z ,-]+: .* s", bar, re.IGNORECASE) for bar in bars), bars


@pytest.mark.parametrize(("sent", "words"), [("SIGINT", "interrupted\n"), ("SIGTERM", "")])
def test_an_interruption_while_a_verb_imports_breaks_nothing(sent, words, tmp_path):
    """A module may turn the exception into another one, or catch it."""
    module = f"import os, signal\ntry:\n    os.kill(os.getpid(), signal.{sent})\nexcept BaseException:\n    pass\n"
    (tmp_path / "stubborn.py").write_text(module)
    begin = "from gcnlimit.cli import predict; import gcnlimit.cli; "
    begin += (
        "predict.command.callback = lambda **given: __import__('stubborn'); gcnlimit.cli.main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", begin, *PREDICT[3:]],
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (128 + getattr(signal, sent), words)


SCRIPT = Path(sys.executable).with_name("gcnlimit")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["script", "module"])
def test_ctrl_c_while_it_starts_shows_no_traceback_of_ours(how):
    """Before its first line is read, a traceback is that of Python, which nothing in the package can prevent."""
    if how == "script" and not SCRIPT.exists():
        pytest.skip("gcnlimit is not installed here")
    words = [SCRIPT] if how == "script" else [sys.executable, "-m", "gcnlimit"]
    for seconds in np.linspace(0.0, 1.2, 40):
        with subprocess.Popen(
            [*words, *SIMULATE[3:]], start_new_session=True, stderr=subprocess.PIPE, text=True
        ) as process:
            time.sleep(seconds)
            os.killpg(process.pid, signal.SIGINT)
            said = process.communicate(timeout=30)[1]
        assert not re.search(r"/gcnlimit/\w+", said), said
        assert process.returncode in (-signal.SIGINT, 130) or "KeyboardInterrupt" in said


SIMULATE = [
    *GCNLIMIT,
    "simulate",
    *OPTIONS,
    "--t",
    "1",
    "--nodes",
    "4000",
    "--trials",
    "400",
    "--workers",
    "2",
]


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.2, 0.35, 0.5, 0.7, 0.9, 1.2, 1.6, 2.2])
def test_ctrl_c_at_any_moment_is_one_line_and_its_exit_status(seconds):
    begin = "import gcnlimit.cli; print('begun', flush=True); gcnlimit.cli.main()"
    words = [sys.executable, "-c", begin, *SIMULATE[3:]]
    how = {
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "start_new_session": True,
    }
    with subprocess.Popen(words, **how) as process:
        assert process.stdout.readline() == "begun\n"
        time.sleep(seconds)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does, to the workers too
        said = process.communicate(timeout=30)[1]
    assert process.returncode in (0, 130)  # 0: what is done is shown
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1
    assert said.startswith("interrupted")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "sent", "status"),
    [
        ("", signal.SIGINT, 0),
        ("", signal.SIGTERM, 143),
        ("trap '' INT; ", signal.SIGTERM, 143),  # as a shell starts what is in the background
    ],
)
def test_an_explorer_that_is_told_to_end_ends_its_processes_and_says_nothing(before, sent, status):
    pytest.importorskip("dash")
    line = " ".join(f"'{word}'" for word in [*GCNLIMIT, "explore", "--no-browser", "--port", "0"])
    words = ["bash", "-c", f"{before}exec {line}"]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, **how) as process:
        assert "The explorer is at" in process.stdout.readline()
        process.send_signal(sent)
        said = process.communicate(timeout=30)[1]
    assert (process.returncode, said) == (status, "")
