"""The classes of some nodes that a user brings, checked."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit._runtime.memory import require
from gcnlimit._validation import as_real, holds, plain_array
from gcnlimit._values import Array, Integers, Mask, shown
from gcnlimit.errors import ParameterError
from gcnlimit.graphs.columns import UNKNOWN

KINDS = "whole numbers or strings"
_LARGEST = 2**53  # up to which a float is a whole number


@dataclass(frozen=True, eq=False)
class Labels:
    """Names of the classes, which nodes are labelled, and the index (0, 1, ...) of the class of each of these."""

    classes: npt.NDArray[Any]
    labelled: Integers
    index: Integers

    @property
    def counts(self) -> Integers:
        """Number of labelled nodes of each class."""
        return np.bincount(self.index, minlength=self.classes.size)


def as_labels(y: Any, nodes: int) -> Labels:
    """Classes of the labelled nodes; -1, NaN, None and the empty string mark the others.

    >>> for y in (["a", None, "b"], ["a", " ", "b"], [0, -1, 1]):
    ...     found = as_labels(y, nodes=3)
    ...     print(found.classes.tolist(), found.labelled.tolist(), found.index.tolist())
    ['a', 'b'] [0, 2] [0, 1]
    ['a', 'b'] [0, 2] [0, 1]
    [0, 1] [0, 2] [0, 1]
    """
    values, mask = _entries(y, nodes)
    if not mask.any():
        none = "y labels no node (-1, NaN and None mark unlabelled nodes)"
        raise ParameterError(f"{none}; label at least two of each class")
    classes, index = np.unique(values, return_inverse=True)
    if marks := [c for c in classes.tolist() if isinstance(c, str) and c.lower() in UNKNOWN]:
        use = "write None or '' if it marks nodes without a class"
        warnings.warn(f"y has the class {marks[0]!r}; {use}", stacklevel=3)
    if classes.size < 2:
        mark = " (-1 marks an unlabelled node: write classes -1 and 1 as 0 and 1)"
        why = f"two are needed{mark * (values.dtype.kind != 'U')}"
        raise ParameterError(f"y has one class, {classes[0]!s}, among its labelled nodes; {why}")
    return Labels(classes, np.flatnonzero(mask), index.astype(np.int64))


def classes_of_nodes(y: Any, nodes: int) -> npt.NDArray[Any]:
    """Class of each node: integers with -1, or strings with ``""``, where it is unknown.

    >>> classes_of_nodes([2.0, np.nan, 0.0], nodes=3).tolist(), classes_of_nodes(["b", None], nodes=2).tolist()
    ([2, -1, 0], ['b', ''])
    """
    values, mask = _entries(y, nodes)
    if values.dtype.kind != "U" and values.size:
        farthest = max(int(values.min()), int(values.max()), key=abs)
        if abs(farthest) > _LARGEST:
            raise ParameterError(f"y reaches {farthest}; use classes within 2**53, or strings")
    classes = np.full(nodes, "", values.dtype) if values.dtype.kind == "U" else np.full(nodes, -1)
    classes[mask] = values
    return classes


def labelled_nodes(raw: npt.NDArray[Any]) -> Mask:
    """Which entries name a class; -1, NaN, None and the empty string do not."""
    if raw.dtype.kind not in "biufUO":
        raise ParameterError(f"y has dtype {raw.dtype}; classes are {KINDS}, -1 where unknown")
    if raw.dtype.kind in "iu":
        return np.asarray(raw != -1)
    return np.array([_is_class(value) for value in raw.tolist()], bool)


def _is_class(value: Any) -> bool:
    """Whether one entry names a class; refuses what is neither a number nor a string, but for marks of missing values."""
    if is_missing(value):
        return False
    if isinstance(value, str | bool | np.bool_):
        return True
    number = isinstance(value, int | float | np.integer | np.floating)
    if isinstance(value, np.timedelta64) or not (number and -(2.0**63) < value < 2.0**63):
        raise ParameterError(f"y contains {shown(value)}; classes are {KINDS}, None where unknown")
    return bool(value != -1)


def is_missing(value: Any) -> bool:
    """Whether an entry is None, NaN, empty or blank, or what pandas writes for a missing value."""
    if isinstance(value, str):
        return not value.strip()
    missing = value is None or type(value).__name__ in ("NAType", "NaTType")
    return missing or (isinstance(value, float | np.floating) and math.isnan(value))


def _entries(y: Any, nodes: int) -> tuple[npt.NDArray[Any], Mask]:
    """Classes as whole numbers or strings, of the nodes that have one, and which do."""
    raw = plain_array("y", y)
    if raw.shape != (nodes,):
        got = f"has shape {raw.shape}" if raw.ndim else f"is {type(y).__name__}"
        raise ParameterError(f"y {got}; it must have one entry for each of the {nodes} nodes")
    mask = labelled_nodes(raw)
    if raw.dtype.kind == "O":
        check_words("classes", (word for word in raw[mask] if isinstance(word, str)), nodes)
    return as_classes(raw[mask]), mask


def as_classes(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Classes as whole numbers or strings, of nodes that have one."""
    if values.dtype.kind == "O":
        words = {isinstance(value, str) for value in values}
        if len(words) > 1:
            raise ParameterError("y mixes strings and numbers; use one kind for all classes")
        values = np.array(values.tolist(), dtype=str if True in words else None)
    if values.dtype.kind == "f" and np.any(fractions := values != np.round(values)):
        fraction = f"y contains {values[fractions][0]:g}"
        raise ParameterError(f"Unknown label type: {fraction}; classes are {KINDS}")
    return values


def check_words(name: str, words: Iterable[str], count: int) -> None:
    """Refuse words that need more memory than there is: in an array each of them takes as much as the longest."""
    longest = max(map(len, words), default=0)
    told = f"a column of {count} {name} of up to {longest} letters"
    require(told, 16.0 * longest * count, "shorten the longest")


def class_weights(labels: Labels, class_weight: object) -> Array:
    """Weight of each labelled node, 1 on average."""
    if class_weight is None:
        return np.ones(labels.index.size)
    if isinstance(class_weight, Mapping) and not hasattr(class_weight, "shape"):
        if not {*class_weight}.intersection(labels.classes.tolist()):
            there = f"use those of the classes {shown(labels.classes.tolist())}"
            raise ParameterError(f"class_weight = {shown(class_weight)} names no class; {there}")
        factors = [class_weight.get(c, 1.0) for c in labels.classes.tolist()]
        each = np.asarray(as_real("class_weight", factors, low=1e-50, high=1e50))
    elif isinstance(class_weight, str) and class_weight == "balanced":
        each = 1.0 / labels.counts
    else:
        use = "use None, 'balanced' or a dictionary of weights by class"
        raise ParameterError(f"class_weight = {shown(class_weight)} is not allowed; {use}")
    weights = each[labels.index]
    return np.asarray(weights / weights.mean())


def as_fractions(value: Any, classes: npt.NDArray[Any]) -> Array:
    """Fractions in the order of the classes, from numbers in that order or by class."""
    names = classes.tolist()
    if holds(hasattr, value, "iloc") and [*value.index] != [*range(len(names))]:
        value = value.to_dict()  # of pandas, which counts classes in an order of its own
    if isinstance(value, Mapping) and not hasattr(value, "shape"):  # as a sparse matrix has
        if set(value) != set(names):
            raise ParameterError(f"fractions name {[*value]}; give one for each of {names}")
        value = [value[name] for name in names]
    if isinstance(value, str):
        use = "use 'auto', 'labels', 'estimated', or a number for each class"
        raise ParameterError(f"fractions = {shown(value)} is not allowed; {use}")
    share = np.asarray(as_real("fractions", value, low=0, open_low=True))
    if share.shape != (len(names),) or abs(share.sum() - 1.0) > 1e-6:
        need = f"give {len(names)} that sum to 1, in the order {names}"
        raise ParameterError(f"fractions = {shown(share.tolist())} are not allowed; {need}")
    return np.asarray(share / share.sum())


def grouped(labels: Labels, most: int) -> tuple[Integers, Integers]:
    """Group of each labelled node, and class of each group: at most about `most`, of one class each."""
    if labels.index.size <= most:
        return np.arange(labels.index.size), labels.index
    parts = max(most // labels.classes.size, 2)
    place = np.random.default_rng(0).permutation(labels.index.size) % parts
    return labels.index * parts + place, np.repeat(np.arange(labels.classes.size), parts)
