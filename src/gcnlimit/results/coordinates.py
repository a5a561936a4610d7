"""The parameters of a result by name, and the axes that they span."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class Coordinates:
    """Parameters that a result was computed for; each broadcasts to the shape of the points.

    An axis is named after the first parameter that varies along it and along no other.

    >>> labels = Coordinates({"alpha": 4.0, "lam": np.array([[0.5], [1.0]]), "mu": np.array([1.0, 2.0, 3.0])})
    >>> labels.axes((2, 3)), labels.constants((2, 3))
    (('lam', 'mu'), {'alpha': 4.0})
    """

    parameters: Mapping[str, Any] = field(default_factory=dict)

    def without(self, names: Collection[str]) -> Coordinates:
        """The others."""
        return Coordinates({name: value for name, value in self.parameters.items() if name not in names})

    def axes(self, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Name of each axis of the points; ``point``, numbered if there are several, where no parameter varies along it alone."""
        names: list[str] = []
        for k in range(len(shape)):
            found = [name for name in self.parameters if name not in names and self._belongs(name, k, shape)]
            names.append(found[0] if found else "point" if len(shape) == 1 else f"point_{k}")
        return tuple(names)

    def coordinates(self, shape: tuple[int, ...]) -> dict[str, tuple[tuple[str, ...], npt.NDArray[Any]]]:
        """Each parameter with the axes along which it varies, and its values there."""
        axes = self.axes(shape)
        found = {}
        for name, value in self.parameters.items():
            along = self._spans(name, shape)
            if name in axes and not along:
                along = (axes.index(name),)
            values = np.reshape(value, [shape[k] for k in along])
            found[name] = (tuple(axes[k] for k in along), values)
        return found

    def columns(self, shape: tuple[int, ...]) -> dict[str, npt.NDArray[Any]]:
        """Each parameter at every point, flattened; those that name the axes first."""
        axes = [name for name in self.axes(shape) if name in self.parameters]
        names = [*axes, *(name for name in self.parameters if name not in axes)]
        return {name: np.broadcast_to(self.parameters[name], shape).reshape(-1) for name in names}

    def constants(self, shape: tuple[int, ...]) -> dict[str, Any]:
        """The parameters that are the same at all points and name no axis."""
        axes = self.axes(shape)
        return {
            name: np.reshape(value, -1)[0].item()
            for name, value in self.parameters.items()
            if name not in axes and np.all(np.ravel(value) == np.ravel(value)[0])
        }

    def _spans(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Axes along which a parameter varies."""
        own = np.shape(self.parameters[name])
        return tuple(k + len(shape) - len(own) for k, length in enumerate(own) if length > 1)

    def _belongs(self, name: str, k: int, shape: tuple[int, ...]) -> bool:
        """Whether a parameter lies along one axis only; along an axis of length 1, whether it was given as such."""
        if shape[k] == 1:
            own = np.shape(self.parameters[name])
            return len(own) == len(shape) - k and np.prod(own) == 1
        return self._spans(name, shape) == (k,)
