"""The page: controls on one side, which stay on the screen, and pictures on the other."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dash import dcc, html

from gcnlimit.csbm import SIGNALS
from gcnlimit.explorer.curves import STRENGTHS
from gcnlimit.explorer.pictures import PICTURES, axis_name
from gcnlimit.explorer.start import LARGEST, PRESETS
from gcnlimit.explorer.state import CHOICES, LIMITS, PARAMETER_OF, SWITCHES, State, family_name
from gcnlimit.parameters import long_name

_ABOUT = (
    "Exact accuracy of graph convolutional networks on the contextual stochastic block model, "
    "in the limit of large graphs, and how far it is from the best possible."
)
_QUESTIONS = {
    "depth-answer": "Where does depth stop helping?",
    "gain-answer": "What is left to gain?",
    "elsewhere-answer": "How accurate is the network on another graph?",
}
_TEXT = (Path(__file__).parent / "assets/formulas.md").read_text()
_LESSON = (Path(__file__).parent / "assets/lesson.md").read_text().split("\n## ")[1:]
_FORMULAS = dict(part.split("\n", 1) for part in _TEXT.split("\n## ")[1:])
_LABELS = {
    "classes": "Classes: their number, or fractions",
    "directed": "Directed graph",
    "estimated": "Estimated from your graph",
    "family": "Family",
    "coefficients": "Coefficients of the polynomial",
    "loss": "Loss",
    "infinite": "Infinite regularization",
    "symmetrize": "Symmetrize the graph",
    "normalization": "Normalization by the degrees",
    "elsewhere": "Test on another graph",
    "axis": "Vary",
    "degrees_variance": "hubs: variance of the degrees",
    "to_lam": "signal of the other graph (lam')",
    "to_mu": "signal of its features (mu')",
    "nodes": "number of nodes",
    "degree": "mean degree",
    "trials": "number of graphs",
}
_LABELS |= {name: f"{long_name(name)} ({name})" for name in LIMITS if name not in _LABELS}
_DATA = (*SIGNALS, "classes", "degrees_variance", "directed", "estimated")
_FILTER = ("family", "depth", *PARAMETER_OF.values())
_NETWORK = (*_FILTER, "loss", "infinite", "reg", "symmetrize", "normalization")
_OTHER = ("elsewhere", "to_lam", "to_mu")
_SIZES = ("nodes", "degree", "trials")
READING = {
    "label": "Classes: column [label, class or y]",
    "id": "Names of nodes: column [the first, or id]",
    "drop": "Leave out: columns, separated by commas",
    "words": "Words: columns that hold no numbers, even if 3 or NA",
    "encoding": "Encoding [utf-8, else cp1252]",
    "undirected": "Undirected: ignore the direction of edges",
    "scale": "Scale features",
}
"""Fields beside the upload, named as the options of `gcnlimit.real.read` and `recommend`."""
_SCALES = {"auto": "automatic", "columns": "columns", "rows": "rows"}


def layout(start: State, sentence: str = "") -> Any:
    """The page with a state to begin with; each load of the page is a client of its own."""
    sliders = {name: [*limit.slider, limit.log, limit.whole] for name, limit in LIMITS.items()}
    presets = {name: state.texts() for group in PRESETS.values() for name, state in group.items()}
    stored: dict[str, Any] = {"client": uuid.uuid4().hex, "limits": sliders, "examples": presets}
    stored |= {"start": start.query(), "state": None, "dots": None, "asked": None}
    stored |= {"lessons": [part.split("\n", 2) for part in _LESSON]}
    spoken = {"role": "status", "aria-live": "polite"}
    lines = [
        html.Div([html.Dt(words), html.Dd(id=name)], id=f"{name}-control")
        for name, words in _QUESTIONS.items()
    ]
    lesson = html.Section(id="lesson", **{"aria-label": "Lesson"})
    # reached by the keyboard, since their box is scrolled on narrow screens
    reached = {"tabIndex": "0", "aria-label": "Answers at this point"}
    main = [
        html.Div(said(sentence), id="message", className="message", tabIndex="0", **spoken),
        html.Div(id="refusal", className="message"),
        html.Div(id="spoken", className="spoken", **spoken),
        html.Section(html.Dl(lines), className="answers", **reached),
        *_pictures(),
    ]
    whole = [
        *(dcc.Store(id=name, data=data) for name, data in stored.items()),
        dcc.Location(id="url", refresh=False),
        dcc.Interval(id="tick", interval=400, disabled=True),
        html.Header([html.H1("gcnlimit explorer"), html.P(_ABOUT), lesson]),
        html.Aside(_controls(), tabIndex="0", **{"aria-label": "Controls"}),
        html.Main(main),
    ]
    return html.Div(whole, className="explorer")


def said(sentence: str) -> list[Any]:
    """Message above the pictures; cells of a table in it are two spaces or more apart."""
    words, head, table = sentence.replace(" +- ", " ± ").partition("\n\nmember")
    rows = [re.split(" {2,}", line) for line in f"{head}{table}".strip().splitlines()]
    return [words, html.Table([html.Tr([*map(html.Td, row)]) for row in rows])] if rows else [words]


def _controls() -> list[Any]:
    """Controls without values: the link of the page, or the state to begin with, sets them."""
    told = "Tune the strength, and a finite regularization with it"
    buttons = [html.Button("Run", id="sample"), html.Button("Stop", id="stop", disabled=True)]
    progress = [
        html.Progress(id="progress", value="0", max="1", **{"aria-label": "Graphs sampled"}),
        html.Span("", id="progress-text", role="status"),
    ]
    copy = [html.Span("Link to this state "), dcc.Clipboard(id="link", title="Copy the link")]
    return [
        _group("Start from", *_starts()),
        _group("Data", *map(_control, _DATA)),
        _group("Network", *map(_control, _NETWORK), html.Button("Tune", id="best", title=told)),
        _group("Another graph", *map(_control, _OTHER)),
        _group("Check by simulation", *map(_control, _SIZES), *buttons, *progress),
        html.Div(copy, className="row"),
    ]


def _starts() -> list[Any]:
    """Examples, and the upload of a graph."""
    examples: list[Any] = []
    for title, states in PRESETS.items():
        examples.append(html.H4(title))
        for name, state in states.items():
            place = {"preset": name, "to": state.query()}
            examples.append(html.Button(name, place, className="preset"))
    words = f"My graph: .npz, or edges and nodes as .csv (up to {LARGEST // 2**20} MB)"
    how = [html.Summary("How to read my graph"), *map(_reading, READING)]
    again = html.Button("Read again", id="again", title="Read the uploaded files once more")
    return [
        html.Details([html.Summary("Examples"), html.Div(examples, id="presets")]),
        dcc.Upload(html.Button(words), id="upload", multiple=True),
        html.Details([*how, again], id="how"),
        html.Div("", id="reading", role="status"),
    ]


def _reading(name: str) -> Any:
    """Field that says how an upload is read."""
    place, words = f"read-{name}", READING[name]
    if name == "undirected":
        return _switch(place, words)
    if name == "scale":
        return html.Div(_choice(place, words, _SCALES, value="auto"))
    field = dcc.Input(id=place, type="text", maxLength=200)
    return html.Div([html.Label(words, htmlFor=place), field], className="number")


def _switch(place: str, words: str) -> Any:
    return dcc.Checklist([{"label": f" {words}", "value": "yes"}], id=place)


def _choice(place: str, words: str, choices: Mapping[str, str], **how: Any) -> list[Any]:
    """Words, and buttons of which one is chosen."""
    items = [{"label": written, "value": value} for value, written in choices.items()]
    field = dcc.RadioItems(items, id=place, inline=True, className="choice", **how)
    return [html.Div(words, className="label"), field]


def _group(title: str, *children: Any) -> Any:
    return html.Details([html.Summary(title), *children], open=True, className="group")


def _control(name: str) -> Any:
    """Control of a field of the state, or the switch for an infinite regularization, which stands for a number."""
    words, place = _LABELS[name], f"{name}-control"
    if name in CHOICES:
        written = {"family": family_name, "axis": axis_name}.get(name, str)
        buttons = _choice(name, words, {option: written(option) for option in CHOICES[name]})
        return html.Div(buttons, id=place, role="radiogroup", **{"aria-label": words})
    if name in (*SWITCHES, "infinite"):
        return html.Div(_switch(name, words), id=place)
    fields = [dcc.Input(id=name, type="text", debounce=True, maxLength=80)]
    if name in LIMITS:
        slider = dcc.Input(id=f"{name}-slider", type="range", min=0, max=1000, step=1)
        fields = [slider, dcc.Input(id=name, type="number", step="any", debounce=True)]
    return html.Div([html.Label(words, htmlFor=name), *fields], className="number", id=place)


def _pictures() -> list[Any]:
    strengths = [_picture(f"strength-{family}") for family in STRENGTHS]
    title = html.H2("Against the strength of the filter")
    along = [_picture("axis", _control("axis")), _picture("gap")]
    inside = [_picture(name) for name in ("layers", "training", "depth", "spectrum")]
    return [
        html.Section([title, html.Div(strengths, className="grid")]),
        html.Section(_picture("elsewhere"), id="elsewhere-section"),
        html.Section(along, className="grid"),
        html.Section([*inside, html.Figure(id="alike")], className="grid"),
        _picture("table"),
    ]


def _picture(name: str, *above: Any) -> Any:
    place = f"{name}-shown"
    shown: Any = html.Div(id=place, className="table")
    if name != "table":  # drawn without Dash, whose script of graphs would delay the first answer
        shown = html.Div(html.Div(className="plot"), id=place, className="drawing")
    title = PICTURES[name].title
    caption = html.Figcaption(id=f"{name}-sentence")
    more = html.Details(_more(name, title), className="more")
    parts = [html.H3(title, id=f"{name}-title"), *above, shown, caption, more]
    named = {"id": f"{name}-figure", "aria-labelledby": f"{name}-title"}
    return html.Figure(parts, className="picture", **named)


def _more(name: str, title: str) -> list[Any]:
    """Files, code and formula of a picture, each named for screen readers with the picture to which it belongs."""
    kinds = ("csv",) if name == "table" else ("csv", "png", "svg")
    named = [{"id": f"{name}-{kind}", "aria-label": f"{kind.upper()}: {title}"} for kind in kinds]
    files = [
        html.Button(k.upper(), className="save", **n) for k, n in zip(kinds, named, strict=True)
    ]
    words = "Save, code, formula"
    formula = _FORMULAS[name.partition("-")[0]]
    return [
        html.Summary(words, **{"aria-label": f"{words}: {title}"}),
        html.Div(files, className="row"),
        html.Pre(id=f"{name}-code", tabIndex="0", **{"aria-label": f"Code: {title}"}),
        html.Div(id=f"{name}-formula", className="formula", title=formula),
    ]
