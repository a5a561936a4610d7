"""Reference values of the validation folder, as data and networks of the library."""

import json
import math
from pathlib import Path

import gcnlimit as gl

ROOT = Path(__file__).parent.parent
REFERENCE = json.loads((ROOT / "validation" / "predictions.json").read_text())
CLASSES = json.loads((ROOT / "validation" / "classes.json").read_text())
DEGREES = json.loads((ROOT / "validation" / "degrees.json").read_text())
LINEAR = json.loads((ROOT / "validation" / "linear.json").read_text())["rows"]
FILTERS = {
    "residual": gl.Residual,
    "diffusion": gl.Diffusion,
    "pagerank": gl.PageRank,
    "polynomial": gl.Polynomial,
}


def rows(infinite):
    """Predictions at infinite, or at finite, regularization."""
    return [row for row in REFERENCE["predictions"] if (row["reg"] == "inf") is infinite]


def problem(row):
    """Data and network of a row."""
    parameter = {k: v for k, v in row["filter"].items() if k != "kind"}
    reg = math.inf if row["reg"] == "inf" else row["reg"]
    network = gl.GCN(
        FILTERS[row["filter"]["kind"]](**parameter), row["loss"], reg, row["symmetrize"]
    )
    return gl.CSBM(**row["data"]), network


def name(row):
    kind = row["filter"]["kind"]
    return f"{kind}-{'sym' if row['symmetrize'] else 'dir'}-{row['loss']}-{row['reg']}-lam{row['data']['lam']}"
