"""How theory and simulation agree, and which of the paper's statements the numbers support."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from gcnlimit._values import Array
from gcnlimit.errors import writing
from gcnlimit.figures.registry import find
from gcnlimit.numerics.gaussian import normal_deviate


def z_scores(dataset: xarray.Dataset) -> Array:
    """Simulated minus predicted, in standard errors, for all dots of a figure that have a prediction.

    The dots of a quantity ``x`` are ``x_simulated``, with ``x_standard_error``; ``x_predicted`` is the theory there. The
    standard error of a few trials is itself uncertain: the quotient follows Student's law, and is returned as the normal
    deviate of the same probability.
    """
    found = []
    for base in _simulated(dataset):
        z = (dataset[f"{base}_simulated"] - dataset[f"{base}_predicted"]) / dataset[f"{base}_standard_error"]
        found.append(z.values[np.isfinite(z.values)])
    return normal_deviate(np.concatenate([np.empty(0), *found]), int(dataset.attrs.get("trials", 2)) - 1)


def _simulated(dataset: xarray.Dataset) -> list[str]:
    """Names of the quantities that have dots."""
    suffix = "_simulated"
    return [str(name).removesuffix(suffix) for name in dataset.data_vars if str(name).endswith(suffix)]


def agreement(datasets: Mapping[str, xarray.Dataset]) -> list[dict[str, Any]]:
    """One row for each figure: number of dots, worst and mean distance to the theory in standard errors."""
    rows = []
    for name, dataset in datasets.items():
        z = np.abs(z_scores(dataset))
        numbers = {"worst |z|": round(float(z.max()), 2), "mean |z|": round(float(z.mean()), 2)} if z.size else {}
        rows.append({"figure": name, "dots": z.size, "worst |z|": "", "mean |z|": ""} | numbers)
    return rows


def dots(datasets: Mapping[str, xarray.Dataset]) -> list[dict[str, Any]]:
    """One row for each dot that has a prediction: where it stands, predicted and simulated value, standard error."""
    return [
        {"figure": name, "quantity": base} | row
        for name, dataset in datasets.items()
        for base in _simulated(dataset)
        for row in _rows(dataset, base)
    ]


def _rows(dataset: xarray.Dataset, base: str) -> Iterator[dict[str, str]]:
    names = {f"{base}_{field}": field.replace("_", " ") for field in ("predicted", "simulated", "standard_error")}
    frame = dataset[list(names)].to_dataframe().reset_index().rename(columns=names).dropna()
    for row in frame.to_dict("records"):
        numbers = {name: f"{row.pop(name):.6g}" for name in names.values()}
        yield {"at": ", ".join(f"{key} = {value}" for key, value in row.items())} | numbers


def statements(datasets: Mapping[str, xarray.Dataset]) -> list[dict[str, Any]]:
    """One row for each statement of the paper that a figure shows."""
    rows = []
    for name, dataset in datasets.items():
        for check in find(name).statements:
            found = check(dataset)
            verdict = "holds" if found.holds else "fails"
            rows.append({"figure": name, "statement": found.text, "verdict": verdict, "number": found.number})
    return rows


def write_agreement(datasets: Mapping[str, xarray.Dataset], folder: Path) -> list[Path]:
    """Write the tables ``agreement.csv``, ``statements.csv``, ``dots.csv``, and the first two as ``agreement.md``."""
    shown = {"agreement": agreement(datasets), "statements": statements(datasets)}
    tables = shown | {"dots": dots(datasets)}
    paths = [folder / f"{name}.csv" for name in tables]
    for path, rows in zip(paths, tables.values(), strict=True):
        with writing(path), path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]) if rows else [])
            writer.writeheader()
            writer.writerows(rows)
    page = folder / "agreement.md"
    with writing(page):
        page.write_text("\n\n".join(map(_markdown, shown.values())) + "\n", encoding="utf-8")
    return [*paths, page]


def _markdown(rows: list[dict[str, Any]]) -> str:
    if not rows:
        return ""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |" for line in lines)
