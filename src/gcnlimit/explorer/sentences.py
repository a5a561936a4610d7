"""What the numbers say, in words: the sentence of each curve, and the answers to the questions of the page."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from gcnlimit._values import Array
from gcnlimit.explorer.computations import Results
from gcnlimit.explorer.curves import LAYERS, TIMES, Layers, Scan, TrainingCurves, strength_range
from gcnlimit.explorer.state import LIMITS, PARAMETER_OF, State, family_name
from gcnlimit.parameters import long_name

_ESTIMATED = "This holds for a model with these parameters, not for your graph itself."
_ENOUGH = 0.001  # accuracy that no further layer is worth
_RATE = 0.01  # learning rate that people know
_UNIT = f"epochs at learning rate {_RATE} for a filter of gain 1"
_FLAT = 1e-6  # accuracies that differ by less are the same


def short(value: float) -> str:
    """Number of three digits, 0 for what rounding leaves of it.

    >>> short(4.44e-16), short(1.52145), short(1000.0)
    ('0', '1.52', '1000')
    """
    return f"{value:.0f}" if abs(value) >= 1000 else f"{0.0 if abs(value) < 1e-6 else value:.3g}"


def capital(words: str) -> str:
    """Words with a capital at the beginning, unless they begin with a symbol, such as theta."""
    return words if words.partition(" ")[0] in LIMITS else f"{words[:1].upper()}{words[1:]}"


def answers(state: State, results: Results) -> dict[str, str]:
    """The answers to the questions of the page, by the names of their places."""
    each = {"depth": depth_answer, "gain": gain_answer, "elsewhere": elsewhere_answer}
    return {f"{name}-answer": answer(state, results) for name, answer in each.items()}


def refusal(error: Exception) -> str:
    """An error of the library in the words of the page, which has controls instead of arguments.

    >>> refusal(Exception("predict has no theory for loss = Hinge() and reg; take loss='square', or reg=math.inf"))
    'There is no theory for loss = hinge and reg; take loss square, or infinite regularization.'
    """
    words = re.sub(r"^[\w ]+ has no theory", "There is no theory", str(error).rstrip("."))
    words = re.sub(r"= (\w+)\(\)", lambda name: f"= {name[1].lower()}", words)
    words = words.replace("reg=math.inf", "infinite regularization")
    words = re.sub(r"(=?)'(\w+)'", lambda quoted: " " * len(quoted[1]) + quoted[2], words)
    return f"{capital(words)}."


def depth_answer(state: State, results: Results) -> str:
    """Where depth stops helping: the best strength of the family, and the layers of a residual network."""
    words = []
    if state.family in results:
        words.append(_best_strength(state.family, state, results[state.family]))
    if "layers" in results:
        words.append(f"Residual networks: {layers_sentence(state, results['layers'])}")
    return _of_the_model(state, " ".join(filter(None, words)))


def gain_answer(state: State, results: Results) -> str:
    """What is left to gain: the distance of the network, of its family and of any one filter from the ceiling."""
    if "ceiling" not in results:
        return ""
    ceiling = results["ceiling"]
    hubs = f" for degrees of variance {short(state.degrees_variance)}" if state.hubs else ""
    words = f"No algorithm exceeds {ceiling:.4f}, the Bayes-optimal accuracy{hubs}."
    named = {"this network": results.get("here", np.nan)}
    if state.family in results:
        named[f"the best {family_name(state.family)}"] = results[state.family].height
    if "filter" in results:
        named["the best network of one filter"] = results["filter"][2]
    named["the best of all linear networks"] = results.get("linear", np.nan)
    reachable = {who: at for who, at in named.items() if not np.isnan(at)}
    if np.isnan(results.get("here", 0.0)):
        words += " This network has no answer; its curve says why."
    reached = []
    unit = "percentage points below the limit"
    for who, at in reachable.items():
        reached.append(f"{who} is at {at:.4f}, {100 * (ceiling - at):.1f} {unit}")
        unit = "below"  # once it is said what of what
    if reached:
        words += f" {capital('; '.join(reached))}."
    if "sparse ceiling" in results:
        limit = f"at mean degree {short(state.degree)} the limit is {results['sparse ceiling']:.4f}"
        words += f" These numbers are for graphs of large degree; {limit}."
    if few := state.gcn.normalization.leaves(state.data.degrees, state.degree):
        words += f" {refusal(Exception(few)).replace(' (Regularized())', '')}"
    return _of_the_model(state, words)


def elsewhere_answer(state: State, results: Results) -> str:
    """What the trained network reaches on the other graph."""
    there = results.get("elsewhere") if state.elsewhere else None
    if there is None:
        return ""
    same = f"it reaches {there.same[-1]:.4f}"
    if np.isnan(there.same[-1]):
        same = "its filter is not defined"
    words = (
        f"On a graph with lam' = {short(state.to_lam)} and mu' = {short(state.to_mu)} {same}. "
        f"With the best filter there, PageRank with theta' = {short(there.theta[-1])}, "
        f"the same weights reach {there.best[-1]:.4f}. With these weights no algorithm exceeds "
        f"{there.frozen[-1]:.4f}; with both graphs available, {there.ceiling[-1]:.4f}."
    )
    ends = ends_sentence("lam'", there.x[:-1], there.same[:-1], "there its filter is not defined")
    return _of_the_model(state, f"{words} {ends}".strip())


def _of_the_model(state: State, words: str) -> str:
    return f"{_ESTIMATED} {words}" if state.estimated and words else words


def ends_sentence(name: str, x: Array, y: Array, why: str) -> str:
    """Where a curve ends before the picture does or is interrupted, and why; nothing if it is complete.

    >>> ends_sentence("lam", np.arange(4.0), np.array([np.nan, 0.6, 0.7, np.nan]), "the series diverges.")
    'The curve ends at lam = 1 and 2: the series diverges.'
    """
    drawn = x[np.isfinite(y)]
    if drawn.size == x.size:
        return ""
    if drawn.size == 0:
        return f"No curve is drawn: {why.rstrip('.')}."
    ends = [end for end, last in ((drawn[0], x[0]), (drawn[-1], x[-1])) if end != last]
    places = [f"ends at {name} = {' and '.join(map(short, ends))}"] if ends else []
    gaps = [(low, high) for low, high in pairwise(drawn) if ((x > low) & (x < high)).any()]
    places += [f"has a gap between {name} = {short(low)} and {short(high)}" for low, high in gaps]
    why = why.partition(" is not allowed: ")[2] or why  # the value is one of many beyond the end
    return f"The curve {' and '.join(places)}: {why.rstrip('.')}."


def strength_sentence(family: str, state: State, scan: Scan) -> str:
    """The best strength of a family, what happens on either side, and where the curve ends."""
    ends = ends_sentence(PARAMETER_OF[family], scan.x, scan.y, scan.why)
    return f"{_best_strength(family, state, scan)} {ends}".strip()


def _best_strength(family: str, state: State, scan: Scan) -> str:
    name = PARAMETER_OF[family]
    if np.isnan(scan.height):
        return ""
    title = capital(family_name(family))
    if np.nanmax(scan.y) - np.nanmin(scan.y) < _FLAT:
        return f"{title}: every strength gives the accuracy {scan.height:.4f}."
    at = f"{long_name(name)} {name} = {short(scan.top)}"
    best = f"{title}: best at {at}, accuracy {scan.height:.4f}"
    if min(abs(scan.top - end) for end in strength_range(family, state)) < 1e-9:
        return f"{best}, the end of the picture; further values may be better."
    return f"{best}. {_either_side(name, scan.top)}".strip()


def _either_side(name: str, top: float) -> str:
    """What happens below and above the best strength."""
    if short(top) == "0":
        return "" if name == "c" else "The graph does not help."
    if name == "c":
        near, far = ("smaller", "larger") if top > 0 else ("larger", "smaller")
        return f"A {near} c oversmooths; a {far} c ignores the neighbours."
    if top > 0:
        return f"A larger {name} oversmooths."
    return f"A {name} further below zero overstates the differences between neighbours."


def layers_sentence(state: State, depths: Layers) -> str:
    """Layers beyond which depth helps no more."""
    if np.isnan(depths.best).all():
        return "they cannot be computed here."
    gained = np.nanmax(depths.best) - depths.best
    least = int(LAYERS[np.flatnonzero(gained <= _ENOUGH)[0]])
    words = f"at the best c{' and reg' if state.finite else ''} of each depth, "
    if least == LAYERS.size:
        words += f"every layer up to {least} still adds to the accuracy"
    else:
        points = f"{100 * gained[least - 1]:.2f}"
        more = "nothing" if points == "0.00" else f"at most {points} percentage points"
        words += f"layers beyond {least} add {more}"
    return words + _oversmoothing(state, depths.kept)


def training_sentence(state: State, curve: TrainingCurves) -> str:
    """When to stop, and how that compares with a ridge regression and with training to the end."""
    top = int(np.argmax(curve.stopped))
    epochs = f"{max(TIMES[top] * state.rho / _RATE, 1.0):.0f} {_UNIT}"
    when = f"at t = {short(TIMES[top])}, which is {epochs}" if top else "after a single step"
    best = f"The accuracy is highest, {curve.stopped[top]:.4f}, {when}"
    loss = 100.0 * (curve.stopped[top] - curve.end)
    lost = f"{'costs' if loss > 0.0 else 'gains'} {abs(loss):.1f} percentage points"
    lost = lost if abs(loss) >= 0.05 else "changes nothing"
    lost = "takes for ever, since some eigenvalues are all but 0" if np.isnan(loss) else lost
    ridge = f"The best ridge regression reaches {curve.ridge.max():.4f}"
    return f"{best}. {ridge}. Training to the end {lost}."


def _oversmoothing(state: State, kept: np.ndarray) -> str:
    """Layers beyond which accuracy falls at the c of the page, if it does."""
    top = int(LAYERS[np.nanargmax(kept)]) if not np.isnan(kept).all() else 0
    if top in {0, LAYERS.size} or kept[top - 1] - kept[-1] < _FLAT:
        return "."
    count = f"{top} layer{'s' * (top > 1)}"
    return f"; with c fixed at {short(state.c)}, accuracy falls beyond {count} (oversmoothing)."


def axis_sentence(state: State, results: Results) -> str:
    """The network at its place on the axis."""
    place = f"Here the network reaches {results['here']:.4f}; {results['ceiling']:.4f} is possible."
    if np.isnan(results["here"]):
        place = f"Here {results['ceiling']:.4f} is possible; the network itself has no answer."
    x, network, *_, why = results["along"]
    words = [place, ends_sentence(state.axis, x, network, why)]
    if "best along" in results:
        best = f"The best {family_name(state.family)} is tuned at each point"
        words.append(f"{best}, at infinite regularization.")
    return " ".join(filter(None, words))


def spectrum_sentence(state: State, spike: float | None, results: Results) -> str:
    """The operator, and what the best filter on it reaches."""
    if state.hubs and state.normalization != "symmetric":
        return f"The spectrum under hubs is not drawn for the normalization {state.normalization}."
    kind = "The operator is symmetric"
    if not state.symmetric:
        kind = "This is the real axis of the directed operator, whose bulk is a disc of radius 1"
    words = f"{kind}; it has {'no spike' if spike is None else f'a spike at {spike:.3g}'}."
    if "filter" in results and "ceiling" in results:
        best, ceiling = results["filter"][2], results["ceiling"]
        words += f" The best of all filters reaches {best:.4f}; {ceiling:.4f} is possible."
    return words
