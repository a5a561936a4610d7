"""The plan of a sweep: a producer, a grid, and the identity of every block; all errors of the user are found here."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gcnlimit import parameters
from gcnlimit._validation import LOOSEST, flag, tolerance, whole
from gcnlimit._values import shown
from gcnlimit.classes import Classes
from gcnlimit.csbm import CSBM
from gcnlimit.degrees import as_degrees
from gcnlimit.errors import ParameterError
from gcnlimit.losses import as_loss
from gcnlimit.network import GCN
from gcnlimit.normalization import as_normalization
from gcnlimit.parameters import DATA, FAMILIES, LEARNING, check_names, filter_names
from gcnlimit.penalties import as_penalty
from gcnlimit.spectrum import as_spectrum
from gcnlimit.sweeps.grid import Axis, Block, read
from gcnlimit.sweeps.producers import Producer
from gcnlimit.sweeps.store import block_key, point_seed

# parameters added later, at values that change nothing: without them seeds and keys stay the same
_UNSAID_IN_SEEDS = [("normalize", False)]
_UNSAID: list[tuple[str, Any]] = [
    ("degrees", None),
    ("noise", 0.0),
    ("normalization", as_normalization("symmetric")),
    ("training", None),
]
_SOLVED_BLOCK = 64  # points of theory at finite regularization, a fixed point each: seconds at most

Given = Mapping[str, Any]
Axes = Mapping[str, Sequence[Any]]


class Plan:
    """What is computed, where, and how it is recognized: every combination of the axes, as rows of points.

    It checks what the user gave, in the order in which it is easiest to explain. Axes of real numbers along which the producer
    is vectorized run along a row, whose blocks are computed in one call each; the others number the rows. The layout depends on
    what is asked for, never on who computes it.
    """

    def __init__(
        self, producer: Producer, axes: Given, data: CSBM | None, gcn: GCN | None, fixed: Given
    ) -> None:
        _check_names(producer, axes, data, gcn, fixed)
        self.producer = producer
        self.axes = tuple(Axis.of(name, values) for name, values in axes.items())
        checked = {name: read(name, [value])[0] for name, value in fixed.items()}
        swept = {axis.name: axis.values for axis in self.axes}
        self.common = _common(producer, data, gcn, checked, swept)
        for name in producer.needed:
            if name not in self.common and name not in axes:
                raise ParameterError(f"{producer.name} needs {name}; add it to axes, data or fixed")
        self._block = _block_size(producer, self.common, self.axes)
        along = [axis for axis in self.axes if axis.name in producer.vectorized]
        # text and whole numbers are never vectorized: a point has one of each
        self._inner = [axis for axis in along if axis.numeric]
        self._outer = [axis for axis in self.axes if axis not in self._inner]
        self.rows = math.prod(len(axis.values) for axis in self._outer)
        self.columns = math.prod(len(axis.values) for axis in self._inner)
        self.size = self.rows * self.columns
        if not producer.identity:  # what a function of the user allows, only it knows
            self._check_values()

    def blocks(self) -> Iterator[Block]:
        """All blocks in order, with their seeds and keys."""
        identity = self.producer.identity or self.producer.name
        for row in range(self.rows):
            outer = _places(self._outer, row)
            common = self.common | {axis.name: axis.values[int(k)] for axis, k in outer}
            if self.producer.seeded and "seed" not in common:
                # the same inputs have the same seed in every version
                seeded_by = dict(item for item in common.items() if item not in _UNSAID_IN_SEEDS)
                common["seed"] = point_seed(identity, seeded_by)
            for start in range(0, self.columns, self._block):
                size = min(self._block, self.columns - start)
                along = _places(self._inner, np.arange(start, start + size))
                arrays = {axis.name: axis.labels[k] for axis, k in along}
                key = block_key(identity, self.producer.defaults | common, arrays)
                yield Block(row, start, size, common, arrays, key)

    def shaped(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Array of rows and columns, in the shape and order of the axes as they were given."""
        laid = (*self._outer, *self._inner)
        order = [laid.index(axis) for axis in self.axes]
        return values.reshape([len(axis.values) for axis in laid]).transpose(order)

    def _check_values(self) -> None:
        """Build data and network once for each axis, so that a value that is never allowed is refused at the door."""
        point = self.common | {axis.name: axis.values[0] for axis in self.axes}
        for axis in self.axes:
            # numbers are checked at once, as an array
            at_once = axis.numeric and axis.name in parameters.real_names()
            for value in (axis.labels,) if at_once else axis.values:
                changed = point | {axis.name: value}
                parameters.build_data(changed)
                if self.producer.network:
                    parameters.build_network(changed)


def _places(axes: Sequence[Axis], flat: Any) -> Iterator[tuple[Axis, Any]]:
    """Each axis, and where along it points of the flattened grid of the axes are."""
    shape = [len(axis.values) for axis in axes]
    return zip(axes, np.unravel_index(flat, shape) if shape else (), strict=True)


def _check_names(producer: Producer, axes: Any, data: object, gcn: object, fixed: Any) -> None:
    if not isinstance(axes, Mapping) or not isinstance(fixed, Mapping):
        wrong = "fixed" if isinstance(axes, Mapping) else "axes"
        raise ParameterError(f"{wrong} must be a dictionary such as {{'lam': [0.5, 1.0]}}")
    if not axes:
        raise ParameterError("a sweep needs at least one axis, such as axes={'lam': [0.5, 1.0]}")
    if producer.allowed is not None:
        settings = () if producer.identity else parameters.SETTINGS
        swept = [name for name in producer.allowed if name not in settings]
        check_names(axes, swept, f"an axis of {producer.name}")
        check_names(fixed, producer.allowed, f"a parameter of {producer.name}")
    if producer.identity and (data is not None or gcn is not None):
        raise ParameterError(f"{producer.name} is your own function: use axes and fixed alone")
    if gcn is not None and not producer.network:
        raise ParameterError(f"{producer.name} takes no network; leave gcn out")


def _common(
    producer: Producer, data: CSBM | None, gcn: GCN | None, fixed: dict[str, Any], axes: Axes
) -> dict[str, Any]:
    """Parameters that are not swept; those of your own function are left as they are."""
    if producer.identity:
        _check_once(fixed, axes, ())
        return fixed
    _check_settings(fixed)
    if gcn is None and producer.network:
        fixed = fixed | parameters.starts(fixed.get("free", {}), (*fixed, *axes))
    return flatten(data, gcn, fixed, axes, network=producer.network)


def _check_once(fixed: Mapping[str, Any], axes: Axes, values: Collection[str]) -> None:
    for name in fixed:
        if name in axes or name in values:
            other = "axes" if name in axes else "data or gcn"
            raise ParameterError(f"{name} is given twice: in fixed, and in {other}")


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse at the door a setting that can never be right, whether or not the points will need it."""
    if "tol" in settings:
        tolerance("tol", settings["tol"], high=LOOSEST)
    if "max_iterations" in settings:
        whole("max_iterations", settings["max_iterations"], low=1)
    if "streamed" in settings:
        flag("streamed", settings["streamed"])
    free = settings.get("free", {})
    if not isinstance(free, Mapping):
        raise ParameterError(f"free = {shown(free)} must be a dictionary such as {{'t': (0, 10)}}")


def _block_size(producer: Producer, common: Mapping[str, Any], axes: Sequence[Axis]) -> int:
    """Points of a block: fewer where each takes long, and one where each may fail by itself."""
    if common.get("degree") is not None and producer.name == "bayes_optimal":
        return 1
    swept = [axis.labels for axis in axes if axis.name == "reg"]
    reg = swept[0] if swept else common.get("reg", np.inf)
    explicit = producer.name == "simulate" or bool(np.all(np.isinf(reg)))
    return producer.block if explicit else min(producer.block, _SOLVED_BLOCK)


def flatten(
    data: CSBM | None, gcn: GCN | None, fixed: Given, axes: Axes, *, network: bool
) -> dict[str, Any]:
    """Parameters of data and, if there is one, of the network by name, without those that are swept.

    Defaults are filled in, so that what identifies a point does not depend on them.

    >>> list(flatten(CSBM(4, 1.0, 2.0, 0.1), None, {"t": 1.5}, {"lam": [0.5, 1.0]}, network=False))
    ['alpha', 'mu', 'rho', 'directed', 'classes', 'features', 't']
    """
    flat: dict[str, Any] = {}
    for name, value, cls, names in (("data", data, CSBM, DATA), ("gcn", gcn, GCN, LEARNING)):
        if value is not None and not isinstance(value, cls):
            raise ParameterError(f"{name} must be a {cls.__name__}, got {type(value).__name__}")
        if value is not None:
            kept = [field for field in names if field not in axes and hasattr(value, field)]
            flat |= {field: _single(field, getattr(value, field)) for field in kept}
    if (training := flat.get("training")) and not axes.keys().isdisjoint(parameters.TIMES):
        del flat["training"]
        kept = [name for name in training.names if name not in axes]
        flat |= {name: _single(name, getattr(training, name)) for name in kept}
    for law, family in parameters.LAWS.items():  # the data say which law has the swept variance
        if "degrees_variance" in axes and isinstance(flat.get("degrees"), family):
            del flat["degrees"]
            flat |= {} if "degrees_law" in axes else {"degrees_law": law}
    _check_once(fixed, axes, (*flat, *(filter_names() if gcn is not None else ())))
    flat |= dict(fixed) | _rest_of_filter(gcn, fixed, axes) | _filter_at_test(gcn, fixed, axes)
    usual = parameters.defaults(CSBM, DATA)
    if network:
        stops = any(name in flat or name in axes for name in parameters.TIMES)
        stops = stops or flat.get("training") is not None
        usual |= parameters.defaults(GCN, LEARNING) | {"reg": 0.0 if stops else np.inf}
    flat |= {name: value for name, value in usual.items() if name not in flat and name not in axes}
    named: dict[str, Any] = {"features": as_spectrum, "classes": Classes.of, "degrees": as_degrees}
    if network:
        named |= {"loss": as_loss, "penalty": as_penalty, "normalization": as_normalization}
    flat |= {name: value_of(flat[name]) for name, value_of in named.items() if name in flat}
    return dict(item for item in flat.items() if item not in _UNSAID)


def _rest_of_filter(gcn: GCN | None, fixed: Mapping[str, Any], axes: Axes) -> dict[str, Any]:
    """What the network's filter keeps, once its swept parameters are set aside: of layers, their depth or shared value."""
    names = [name for name in filter_names() if name in fixed or name in axes]
    lone = [name for name in names if name != "depth"]
    deep = [name for name, family in FAMILIES.items() if parameters.layered(family)]
    if len(lone) > 1 or ("depth" in names and any(name not in deep for name in lone)):
        use = f"sweep one of {parameters.filter_choices()}, or compare filters by the axis filter"
        raise ParameterError(f"{' and '.join(names)} belong to different filters; {use}")
    if gcn is None or names == ["filter"]:
        return {}
    filter = gcn.filter
    name = filter.parameter
    _single(name, np.empty(filter.shape))
    if not names:
        return {"filter": filter}
    if name not in (lone or deep):
        owners = " or ".join(FAMILIES[name].__name__ for name in lone or deep)
        other = f"but gcn has a {type(filter).__name__} filter; give gcn such a filter"
        raise ParameterError(f"{names[0]} is a parameter of {owners}, {other}")
    if name not in deep or (name in axes and ("depth" in axes or isinstance(axes[name][0], tuple))):
        return {}
    if name in axes:
        return {"depth": filter.values.shape[-1]}
    if np.unique(filter.values).size != 1:
        several = f"{name} = {filter.values.tolist()}"
        raise ParameterError(f"depth needs one {name} shared by all layers, but gcn has {several}")
    return {name: float(filter.values[0])}


def _filter_at_test(gcn: GCN | None, fixed: Mapping[str, Any], axes: Axes) -> dict[str, Any]:
    """The network's filter at test, if it is another one and not swept."""
    named = [name for name in parameters.names_at_test() if name in fixed or name in axes]
    if len(named) > 1:
        raise ParameterError(f"{' and '.join(named)} belong to different filters; give one")
    if gcn is None or gcn.test_filter is None or named:
        return {}
    _single("test_filter", np.empty(gcn.test_filter.shape))
    return {"test_filter": gcn.test_filter}


def _single(name: str, value: Any) -> Any:
    if np.ndim(value):
        axis = f"axes={{{name!r}: ...}}"
        raise ParameterError(f"{name} has {np.size(value)} values; sweep them as {axis}")
    return value
