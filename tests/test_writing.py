"""Files that cannot be written: one sentence that names the file, from the library and from the command line."""

import pytest
from click.testing import CliRunner
from problems import DATA, OPTIONS

import gcnlimit as gl
from gcnlimit.cli.app import app


@pytest.mark.parametrize("name", ["missing/file", "file/below.npz"])
def test_an_instance_is_not_written_into_a_missing_folder(tmp_path, name):
    (tmp_path / "file").write_text("")
    path = tmp_path / name
    with pytest.raises(gl.ParameterError, match=f"{path} cannot be written: there is no folder {path.parent}"):
        gl.sample(DATA, nodes=40, degree=6.0, seed=0).save(path)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(gl.ParameterError, match="cannot be written: Is a directory; choose another file"):
        gl.sample(DATA, nodes=40, degree=6.0, seed=0).save(tmp_path)


def test_scores_are_not_written_into_a_missing_folder(tmp_path):
    with pytest.raises(gl.ParameterError, match="there is no folder"):
        gl.benchmark.Scores(()).save(tmp_path / "missing" / "scores.json")


@pytest.mark.parametrize(
    "arguments",
    [("sample", *OPTIONS, "--nodes", "40", "--degree", "6", "--out"), ("predict", *OPTIONS, "--t", "0:1:3", "--plot")],
    ids=["sample", "predict"],
)
def test_the_command_line_says_the_folder_is_missing_before_computing(tmp_path, arguments):
    result = CliRunner().invoke(app, [*arguments, str(tmp_path / "missing" / "file.png")])
    assert result.exit_code == 2
    assert "cannot be written" in result.output
    assert "missing" in result.output
