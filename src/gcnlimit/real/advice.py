"""A recommendation in words: what to use, what the graph adds, how deep, what more labels buy, what is left to gain."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from gcnlimit.real.estimate import Estimate
from gcnlimit.real.outlook import Depth, steps
from gcnlimit.theory.bayes import bayes_optimal

UNEQUAL = 5  # unequal classes above which the ceiling takes minutes


class Rule(NamedTuple):
    """A network that one rule chooses.

    Parameters
    ----------
    rule
        ``"leave-one-out"``, ``"theory"``, ``"fixed strength"`` or ``"no graph"``.
    family, strength, reg
        What it chooses; the regularization always by leave-one-out.
    loo_accuracy, loo_error
        Leave-one-out accuracy, and its standard error.
    optimism
        How much the choice itself makes this accuracy too large (bootstrap).
    options
        Arguments of `GraphClassifier` that give this network.
    """

    rule: str
    family: str
    strength: float
    reg: float
    loo_accuracy: float
    loo_error: float
    optimism: float
    options: dict[str, Any]


def sentences(
    rule: Rule,
    why: str,
    depths: Sequence[Depth],
    *,
    half: float | None,
    bare: bool,
    model: Estimate,
    doubts: tuple[str, ...],
) -> Iterator[str]:
    """What to do and why; what the labels are too few to say is left out (`half` None)."""
    yield _use(rule, why)
    if half is not None:
        if rule.family != "no graph" and not bare:
            yield _graph(depths)
        yield _depth(rule, depths)
        yield _labels(rule, half)
    yield _ceiling(rule, model, doubts)


def _use(rule: Rule, why: str) -> str:
    what = (
        "no graph, the features alone" if rule.family == "no graph" else f"{rule.family} of strength {rule.strength:g}"
    )
    honest = rule.loo_accuracy - rule.optimism
    return (
        f"Use {what}: {why}.\nExpect an accuracy of {honest:.3f} +- {rule.loo_error:.3f} on other nodes: "
        f"{rule.loo_accuracy:.3f} by leave-one-out, less {rule.optimism:.3f} for being the best of several."
    )


def _graph(depths: Sequence[Depth]) -> str:
    gain = next(depth.below for depth in depths if depth.strength == 0.0)
    doubt = "" if gain.value > 2.0 * gain.error else ", which may be chance"
    return f"The graph adds {100 * gain.value:.1f} +- {100 * gain.error:.1f} points to the features alone{doubt}."


def _labels(rule: Rule, half: float) -> str:
    if rule.loo_accuracy - half < 0.005:
        return f"Half of the labels give {half:.3f}, as much as all: more will hardly help."
    return (
        f"Half of the labels give {half:.3f} instead of {rule.loo_accuracy:.3f}; doubling them usually adds less than this "
        "difference."
    )


def _depth(rule: Rule, depths: Sequence[Depth]) -> str:
    if rule.family == "no graph":
        return "No depth does better than none."
    if rule.family == "hops":
        return f"It looks up to {rule.strength:g} steps along the edges."
    mean = steps(rule.strength) if rule.family == "pagerank" else abs(rule.strength)
    good = [d.steps for d in depths if d.strength * rule.strength > 0 and d.below.value <= d.below.error]
    others = f"; {min(good):.1f} to {max(good):.1f} are as good within a standard error" if good else ""
    return f"Its depth is {mean:.1f} steps along the edges on average{others}."


def _ceiling(rule: Rule, model: Estimate, doubts: tuple[str, ...]) -> str:
    if doubts:
        return f"What is left to gain is not known, since the model of the theory may not describe this graph: {doubts[0]}."
    if len(model.fractions) > UNEQUAL and len(set(model.fractions.tolist())) > 1:
        return "What is left to gain: gcnlimit.bayes_optimal(estimate.data) computes the best possible accuracy, in minutes."
    best = bayes_optimal(model.data)
    return (
        f"No algorithm exceeds {best.test_accuracy:.3f} +- {best.standard_error.test_accuracy:.3f}, if the graph is one of the "
        "model of the theory, against which nothing speaks."
    )
