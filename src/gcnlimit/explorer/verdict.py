"""The two questions of the page, answered in words at the point that it shows."""

from __future__ import annotations

import numpy as np

from gcnlimit.explorer.accuracies import Parts, layers_sentence
from gcnlimit.explorer.parts import STRENGTHS, Scan, shown
from gcnlimit.explorer.state import State
from gcnlimit.parameters import long_name

VERDICT = ("here", "ceiling", *STRENGTHS, "layers", "filter")
"""Parts from which the answers are made."""
_BEYOND = {
    "residual": "with less of it nodes become alike, with more of it their neighbours hardly count",
    "diffusion": "beyond it nodes become alike",
    "pagerank": "beyond it nodes become alike",
}


def depth_helps(state: State, parts: Parts) -> str:
    """Where depth stops helping: the best strength of the family, and the layers of a residual network."""
    words = []
    if state.family in parts:
        words.append(_best_strength(state, parts[state.family]))
    if "layers" in parts:
        words.append(f"Residual networks: {_lower(layers_sentence(state, parts))}")
    return " ".join(words)


def _best_strength(state: State, found: Scan) -> str:
    name = state.parameter
    if np.isnan(found.height):
        return ""
    best = (
        f"{state.family.capitalize()}: best at {long_name(name)} {name} = {found.top:.3g}, accuracy {found.height:.4f}"
    )
    if min(abs(found.top - end) for end in shown(state.family, state)) < 1e-9:
        return f"{best}, the end of the picture: it still improves there."
    return f"{best}; {_BEYOND[state.family]}."


def left_to_gain(state: State, parts: Parts) -> str:
    """What is left to gain: the distance of the network, of its family and of all linear networks from the ceiling."""
    if "ceiling" not in parts:
        return ""
    ceiling = parts["ceiling"]
    named = {"this network": parts.get("here")}
    if state.family in parts:
        named[f"the best {state.family}"] = parts[state.family].height
    if "filter" in parts:
        named["the best linear network"] = parts["filter"][2]
    lost = [
        f"{who} ({value:.4f}) leaves {100 * (ceiling - value):.1f}"
        for who, value in named.items()
        if value is not None and not np.isnan(value)
    ]
    points = f"In points of accuracy, {', '.join(lost)}." if lost else ""
    return f"No algorithm exceeds {ceiling:.4f}, the Bayes-optimal accuracy. {points}".strip()


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
