"""A picture before it is drawn: numbers, words, and the lines of code that give them."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, replace

import numpy as np

from gcnlimit._values import Array

CEILING = "Bayes-optimal"
"""Name of the curve that no algorithm exceeds."""

WAIT = "computing ..."
"""Sentence of a picture of which nothing is known yet."""


@dataclass(frozen=True)
class Curve:
    """Values along one axis; `style` is ``line``, ``dash``, ``dot``, ``area`` or ``dots``, and `error` a standard error."""

    name: str
    x: Array
    y: Array
    style: str = "line"
    error: Array | None = None


@dataclass(frozen=True)
class Map:
    """Values `z` over a grid, of shape ``(y.size, x.size)``, and the point of the page."""

    x: Array
    y: Array
    z: Array
    point: tuple[float, float]


@dataclass(frozen=True)
class Table:
    """Rows of text under a header."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Picture:
    """One picture of the page.

    Parameters
    ----------
    x, y
        Labels of the axes.
    sentence
        What the picture says, in words and numbers.
    python, command
        Lines that compute it; an empty command where there is none.
    curves, map, table
        What is drawn.
    log
        Whether the horizontal axis is logarithmic.
    complete
        Whether nothing is still to be computed.
    """

    x: str
    y: str
    sentence: str
    python: str
    command: str = ""
    curves: tuple[Curve, ...] = ()
    map: Map | None = None
    table: Table | None = None
    log: bool = False
    complete: bool = True

    def with_state(self, *, complete: bool, sentences: tuple[str, ...]) -> Picture:
        """Same picture, complete or not, with more sentences; one that waits for what was refused says so instead."""
        own = () if complete and self.sentence == WAIT else (self.sentence,)
        return replace(self, complete=complete, sentence=" ".join((*own, *sentences)))

    def csv(self) -> str:
        """The numbers, one row for each point.

        >>> print(Picture("t", "accuracy", "", "", curves=(Curve("a", np.array([1.0]), np.array([0.5])),)).csv())
        curve,t,accuracy,standard_error
        a,1.0,0.5,
        """
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n").writerow
        if self.table is not None:
            for row in (self.table.header, *self.table.rows):
                write(row)
        elif self.map is not None:
            write([self.x, self.y, "value"])
            for y, row in zip(self.map.y.tolist(), self.map.z.tolist(), strict=True):
                for x, z in zip(self.map.x.tolist(), row, strict=True):
                    write([x, y, z])
        else:
            write(["curve", self.x, self.y, "standard_error"])
            for curve in self.curves:
                errors = [""] * curve.x.size if curve.error is None else np.asarray(curve.error).tolist()
                for x, y, error in zip(curve.x.tolist(), curve.y.tolist(), errors, strict=True):
                    write([curve.name, x, y, error])
        return out.getvalue().rstrip("\n")
