"""The message-passing network with parts of it changed or left out, to see which of them matter."""

from __future__ import annotations

from typing import Any

import torch

from gcnlimit.nn import MessagePassing


class Ablated(MessagePassing):
    """The network with other options.

    Parameters
    ----------
    memory
        Also ``"exact"``, 1 and not trained, or ``"none"``, 0.
    tied
        Whether all layers share their numbers.
    clamp
        Whether known labels enter every layer, or the first alone.
    nonlinear
        Whether the posterior means are a softmax of the evidence, or the evidence itself (a linear network).
    """

    def __init__(
        self,
        classes: int,
        layers: int = 15,
        *,
        memory: str = "trained",
        tied: bool = True,
        clamp: bool = True,
        nonlinear: bool = True,
        **options: Any,
    ) -> None:
        fixed = memory in ("exact", "none")
        super().__init__(classes, layers, memory="trained" if fixed else memory, **options)
        self.fixed, self.tied, self.clamp, self.nonlinear = fixed, tied, clamp, nonlinear
        start = self.numbers.detach().repeat(1 if tied else layers, 1)
        if memory == "none":
            start[:, 3:] = 0.0
        self.numbers = torch.nn.Parameter(start)

    def _of(self, layer: int) -> Any:
        if self.tied and not self.fixed:
            return super()._of(layer)
        numbers = self.numbers[0 if self.tied else layer]
        return torch.cat([numbers[:3], numbers[3:].detach()]) if self.fixed else numbers

    def _layer_means(self, logits: Any, seen: Any, code: Any) -> Any:
        return super()._layer_means(logits, seen, code) if self.clamp else self.means(logits)

    def means(self, logits: Any) -> Any:
        """Posterior means, or the evidence itself."""
        if self.nonlinear:
            return super().means(logits)
        return (logits - logits.mean(2, keepdim=True)) * self._root(torch.softmax(self.bias, 0))
