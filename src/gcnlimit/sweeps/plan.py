"""The plan of a sweep: a producer, a grid, and the identity of every block; all errors of the user are found here."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from gcnlimit._runtime.memory import require
from gcnlimit._validation import LOOSEST, flag, tolerance, whole
from gcnlimit.csbm import CSBM
from gcnlimit.errors import ParameterError
from gcnlimit.network import GCN
from gcnlimit.parameters import DATA, SETTINGS, build_data, build_network, check_names, families, network_names, starts
from gcnlimit.sweeps.flatten import flatten
from gcnlimit.sweeps.grid import Axis, Block, Grid, read
from gcnlimit.sweeps.keys import block_key, point_seed
from gcnlimit.sweeps.producers import Producer

_LATER = [("normalize", False)]  # parameters that came later, at values that change nothing: seeds stay what they were
_BYTES = 250.0  # of memory for each point of the answer
_SOLVED_BLOCK = 64  # points of theory at finite regularization, a fixed point each: seconds at most


@dataclass(frozen=True)
class Plan:
    """What is computed, where, and how it is recognised."""

    producer: Producer
    grid: Grid

    @classmethod
    def of(
        cls,
        producer: Producer,
        axes: Mapping[str, Any],
        data: CSBM | None,
        gcn: GCN | None,
        fixed: Mapping[str, Any],
    ) -> Plan:
        """Check what the user gave, in the order in which it is easiest to explain."""
        _check_names(producer, axes, data, gcn, fixed)
        read_axes = [Axis.of(name, values) for name, values in axes.items()]
        values = {axis.name: axis.values for axis in read_axes}
        given = {name: read(name, [value])[0] for name, value in fixed.items()}
        common = _flat(producer, data, gcn, given, values)
        for name in producer.needed:
            if name not in common and name not in axes:
                raise ParameterError(
                    f"{producer.name} needs {name}; give it in axes, or where the fixed parameters are"
                )
        points = math.prod(len(axis.values) for axis in read_axes)
        require(f"a sweep of {points:.3g} points", _BYTES * points, "take fewer values of its axes")
        grid = Grid(read_axes, common, vectorised=producer.vectorised, block=_block_size(producer, common, read_axes))
        plan = cls(producer, grid)
        if not producer.identity:
            plan._check_values()
        return plan

    def blocks(self) -> Iterator[Block]:
        """Blocks with their seeds and keys."""
        identity = self.producer.identity or self.producer.name
        for block in self.grid.blocks():
            common = block.common
            if self.producer.seeded and "seed" not in common:
                known = {name: value for name, value in common.items() if (name, value) not in _LATER}
                common = common | {"seed": point_seed(identity, known)}
            yield replace(block, common=common, key=block_key(identity, self.producer.defaults | common, block.arrays))

    def _check_values(self) -> None:
        """Build data and network once for each axis, so that a value that is never allowed is refused at the door."""
        first = next(self.grid.blocks())
        point = first.common | {name: float(values[0]) for name, values in first.arrays.items()}
        for axis in self.grid.axes:
            for value in (axis.labels,) if axis.numeric else axis.values:
                self._build(point | {axis.name: value}, axis.name)
        self._build(point, "")

    def _build(self, point: dict[str, Any], name: str) -> None:
        if name in DATA or not name:
            build_data(point)
        if self.producer.network and (name in network_names() or not name):
            build_network(point)


def _check_names(producer: Producer, axes: object, data: object, gcn: object, fixed: object) -> None:
    if not isinstance(axes, Mapping) or not isinstance(fixed, Mapping):
        wrong = "fixed" if isinstance(axes, Mapping) else "axes"
        raise ParameterError(f"{wrong} must be a dictionary such as {{'lam': [0.5, 1.0]}}")
    if not axes:
        raise ParameterError("a sweep needs at least one axis, such as axes={'lam': [0.5, 1.0]}")
    allowed = producer.allowed
    if allowed is not None:
        swept = [name for name in allowed if producer.identity or name not in SETTINGS]
        check_names(axes, swept, f"an axis of {producer.name}")
        check_names(fixed, allowed, f"a parameter of {producer.name}")
    if producer.identity and (data is not None or gcn is not None):
        raise ParameterError(
            f"{producer.name} is your own function: give its parameters in axes and fixed, not in data or gcn"
        )
    if gcn is not None and not producer.network:
        raise ParameterError(f"{producer.name} takes no network; leave gcn out")


def _flat(
    producer: Producer, data: CSBM | None, gcn: GCN | None, fixed: dict[str, Any], axes: Mapping[str, Any]
) -> dict[str, Any]:
    """Parameters that are not swept; those of your own function are left as they are."""
    if not producer.identity:
        _check_settings(fixed)
        if gcn is None and producer.network and not any(name in families() for name in (*fixed, *axes)):
            fixed = fixed | starts(fixed.get("free", {}), ())
        return flatten(data, gcn, fixed, axes, network=producer.network)
    twice = [name for name in fixed if name in axes]
    if twice:
        raise ParameterError(f"{twice[0]} is given twice: in fixed, and in axes")
    return fixed


def _check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse at the door a setting that can never be right, whether or not the points will need it."""
    if "tol" in settings:
        tolerance("tol", settings["tol"], high=LOOSEST)
    if "max_iterations" in settings:
        whole("max_iterations", settings["max_iterations"], low=1)
    if "streamed" in settings:
        flag("streamed", settings["streamed"])
    if not isinstance(settings.get("free", {}), Mapping):
        raise ParameterError(f"free = {settings['free']!r} must be a dictionary such as {{'t': (0, 10)}}")


def _block_size(producer: Producer, common: Mapping[str, Any], axes: list[Axis]) -> int:
    """Points of a block: fewer where each is a fixed point of its own."""
    swept = [axis.labels for axis in axes if axis.name == "reg"]
    reg = swept[0] if swept else common.get("reg", np.inf)
    explicit = producer.name == "simulate" or bool(np.all(np.isinf(reg)))
    return producer.block if explicit else min(producer.block, _SOLVED_BLOCK)
