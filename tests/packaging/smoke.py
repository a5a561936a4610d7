"""What an installed gcnlimit must do, outside its checkout: ``python smoke.py core | cli | all``.

Run by install.py in an environment that has no extra (core), the extra ``cli``, or ``all``.
"""

import importlib.metadata
import importlib.resources
import json
import math
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import gcnlimit as gl

DATA = gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1)
NETWORK = gl.GCN(gl.Diffusion(t=1.488), symmetrize=True)
EXACT = {"network": 0.8809461044, "ceiling": 0.9127267774}
SIGNALS = ["--alpha", "4", "--lam", "1", "--mu", "2", "--rho", "0.1"]
COMMAND = Path(sys.executable).with_name("gcnlimit")


def core() -> None:
    """Numbers, public names, type information; a missing extra is a sentence that names it."""
    assert gl.__version__ == importlib.metadata.version("gcnlimit")
    assert importlib.resources.files("gcnlimit").joinpath("py.typed").is_file()
    _close(gl.predict(DATA, NETWORK).test_accuracy, EXACT["network"])
    _close(gl.bayes_optimal(DATA).test_accuracy, EXACT["ceiling"])
    for name in dir(gl):
        if not name.endswith("Classifier"):  # estimators of scikit-learn
            getattr(gl, name)
    finite = gl.predict(DATA, gl.GCN(gl.Residual([1.0, 1.0]), loss="logistic", reg=1.0))
    trained = gl.simulate(DATA, NETWORK, nodes=500, degree=20, trials=2, workers=1)
    assert 0.5 < finite.test_accuracy < 1.0
    assert 0.5 < trained.test_accuracy < 1.0
    _asks_for(
        "sweep", lambda: gl.sweep("predict", data=DATA, gcn=NETWORK, axes={"lam": [0.5, 1.0]})
    )
    _asks_for("sklearn", lambda: gl.GraphClassifier)
    said = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=False)
    assert said.returncode == 1
    assert "pip install 'gcnlimit[cli]'" in said.stderr


def cli() -> None:
    """The command line without the other extras."""
    found = json.loads(_run("predict", *SIGNALS, "--t", "1.488", "--output", "json"))
    _close(found[0]["test_accuracy"], EXACT["network"])
    said = subprocess.run([COMMAND, "figure", "depth"], capture_output=True, text=True, check=False)
    assert said.returncode != 0
    assert "gcnlimit[figures]" in said.stderr


def everything() -> None:
    """Each optional package, once."""
    import gcnlimit.explorer.app

    table = gl.sweep(
        "predict", data=DATA, gcn=NETWORK, axes={"lam": [0.5, 1.0]}, store="sweep.sqlite", workers=2
    )
    _close(table.test_accuracy.sel(lam=1.0).item(), EXACT["network"])
    table.to_netcdf("sweep.nc", engine="h5netcdf")
    assert gl.predict(DATA, NETWORK).to_dataframe().shape[0] == 1
    _run("figure", "learning-rates", "--trials", "0")
    given = gl.sample(DATA, nodes=300, degree=20, seed=0)
    X, y, A = (
        given.observation.features,
        given.observation.train_labels,
        given.observation.adjacency,
    )
    assert gl.real.to_networkx(given.to_dataset()).number_of_nodes() == 300
    assert gl.GraphClassifier().fit(X, y, graph=A).predict(X, graph=A).shape == (300,)
    assert callable(gcnlimit.explorer.app.serve)


def _run(*words: str) -> str:
    return subprocess.check_output([COMMAND, *words], text=True)


def _close(found: object, expected: float) -> None:
    assert math.isclose(float(found), expected, abs_tol=1e-9), (found, expected)  # type: ignore[arg-type]


def _asks_for(extra: str, call: Callable[[], object]) -> None:
    said = ""
    try:
        call()
    except gl.GCNLimitError as sentence:
        said = str(sentence)
    assert f"gcnlimit[{extra}]" in said, (extra, said)


if __name__ == "__main__":
    for level in sys.argv[1:]:
        {"core": core, "cli": cli, "all": everything}[level]()
