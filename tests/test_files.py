"""Files are written whole or not at all: what fails leaves the old one as it was, and nothing beside it."""

import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import run
from problems import OPTIONS

import gcnlimit as gl
from gcnlimit.errors import ParameterError, writing

DATA = gl.CSBM(4, 1, 2, 0.1)
GRAPH = ["--nodes", "60", "--degree", "10"]


class Full:
    """A file of which only the first bytes fit on the disk."""

    def __init__(self, file):
        self._file = file

    def __getattr__(self, name):
        return getattr(self._file, name)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._file.close()

    def write(self, content):
        self._file.write(content[:5])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.fixture
def full_disk(monkeypatch):
    """From when it is called, writing to a new file fails after a few bytes."""
    import builtins
    import io

    real = builtins.open

    def opened(file, mode="r", *given, **how):
        found = real(file, mode, *given, **how)
        return Full(found) if mode[:1] in "wx" else found

    def fill():
        monkeypatch.setattr(builtins, "open", opened)
        monkeypatch.setattr(io, "open", opened)

    return fill


def graph(seed=0):
    return gl.sample(DATA, nodes=60, degree=10, seed=seed)


WRITERS = {
    "instance.npz": lambda path: graph().save(path),
    "data.npz": lambda path: gl.real.write(graph().to_dataset(), path),
    "edges.csv": lambda path: gl.real.write(
        graph().to_dataset(), path, path.with_name("nodes.csv")
    ),
    "scores.json": lambda path: gl.benchmark.Scores(()).save(path),
    "sample.npz": lambda path: _verb("sample", *OPTIONS, *GRAPH, "--out", path),
    "plot.png": lambda path: _verb("predict", *OPTIONS, "--t", "0:1:3", "--plot", path),
}


def _verb(*words):
    done = run(*words)
    if done.exit_code:
        raise ParameterError(done.stderr)


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("old", [True, False])
def test_a_full_disk_leaves_the_old_file_and_no_other(name, old, tmp_path, full_disk):
    path = tmp_path / name
    if old:
        path.write_bytes(b"old")
    full_disk()
    with pytest.raises(ParameterError, match="cannot be written: No space left on device"):
        WRITERS[name](path)
    assert [one.name for one in tmp_path.iterdir()] == [name] * old
    assert not old or path.read_bytes() == b"old"


LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (400, 400))
from gcnlimit.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="no limit on the size of files")
@pytest.mark.parametrize("words", ["predict --t 0:1:3 --plot old.pdf", "figure depth --out ."])
def test_a_writer_that_fails_in_a_way_of_its_own_is_one_sentence_too(words, tmp_path):
    """Matplotlib raised another error, and HDF5 ended the process."""
    verb, *rest = words.split()
    options = OPTIONS if verb == "predict" else []
    (tmp_path / "old.pdf").write_text("old")
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, verb, *options, *rest],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "cannot be written: File too large" in done.stderr
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


def test_classes_and_figures_of_a_full_disk(tmp_path, full_disk):
    graph().save(tmp_path / "graph.npz")
    (tmp_path / "out").mkdir()
    old = tmp_path / "out" / "classes.csv"
    old.write_text("old")
    full_disk()
    with pytest.raises(ParameterError, match="No space left"):
        _verb("classify", tmp_path / "graph.npz", "--out", old)
    assert [one.read_text() for one in (tmp_path / "out").iterdir()] == ["old"]


def test_an_interruption_leaves_the_old_file_too(tmp_path):
    path = tmp_path / "kept.txt"
    path.write_text("old")

    def interrupted():
        with writing(path) as new:
            new.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [one.read_text() for one in tmp_path.iterdir()] == ["old"]


def test_what_is_written_keeps_the_rights_and_the_link_of_the_old_file(tmp_path):
    path, link = tmp_path / "real.npz", tmp_path / "link.npz"
    graph(0).save(path)
    path.chmod(0o640)
    link.symlink_to(path)
    graph(1).save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert np.array_equal(gl.Instance.load(path).features, graph(1).features)


def test_a_device_is_written_to_and_not_replaced():
    before = os.stat(os.devnull).st_mode
    with writing(os.devnull) as new:
        assert new == Path(os.devnull)
        new.write_text("lost")
    assert os.stat(os.devnull).st_mode == before


@pytest.mark.parametrize("verb", ["figure", "sample"])
def test_a_name_that_is_too_long_is_one_sentence(verb, tmp_path):
    given = {"figure": ["best-time"], "sample": [*OPTIONS, *GRAPH]}[verb]
    done = run(verb, *given, "--out", str(tmp_path / ("x" * 300 + ".npz")))
    assert done.exit_code == 2
    assert "cannot be written: File name too long" in done.stderr


def test_a_name_as_long_as_it_may_be_can_be_written(tmp_path):
    for name in ("x" * 251 + ".csv", "x." + "y" * 253):
        with writing(tmp_path / name) as new:
            new.write_text("new")
        assert (tmp_path / name).read_text() == "new"


@pytest.mark.parametrize("name", ["missing/file", "file/below.npz"])
def test_an_instance_is_not_written_into_a_missing_folder(tmp_path, name):
    (tmp_path / "file").write_text("")
    path = tmp_path / name
    with pytest.raises(
        gl.ParameterError, match=f"{path} cannot be written: there is no folder {path.parent}"
    ):
        gl.sample(DATA, nodes=40, degree=6.0, seed=0).save(path)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(
        gl.ParameterError, match="cannot be written: Is a directory; choose another file"
    ):
        gl.sample(DATA, nodes=40, degree=6.0, seed=0).save(tmp_path)


def test_scores_are_not_written_into_a_missing_folder(tmp_path):
    with pytest.raises(gl.ParameterError, match="there is no folder"):
        gl.benchmark.Scores(()).save(tmp_path / "missing" / "scores.json")


@pytest.mark.parametrize(
    "arguments",
    [
        ("sample", *OPTIONS, "--nodes", "40", "--degree", "6", "--out"),
        ("predict", *OPTIONS, "--t", "0:1:3", "--plot"),
    ],
    ids=["sample", "predict"],
)
def test_the_command_line_says_the_folder_is_missing_before_computing(tmp_path, arguments):
    result = run(*arguments, str(tmp_path / "missing" / "file.png"))
    assert result.exit_code == 2
    assert "cannot be written" in result.output
    assert "missing" in result.output
