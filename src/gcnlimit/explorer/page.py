"""The page: controls on one side, pictures on the other."""

from __future__ import annotations

import math
import uuid
from typing import Any

from dash import dcc, html

from gcnlimit.explorer.accuracies import MEASURES
from gcnlimit.explorer.presets import PRESETS
from gcnlimit.explorer.state import AXES, CHOICES, FAMILIES, LIMITS, State
from gcnlimit.explorer.upload import LARGEST
from gcnlimit.parameters import long_name

FIELDS = (
    *("alpha", "lam", "mu", "rho", "classes", "directed", "family", "depth", "c", "t", "theta", "coefficients"),
    *("loss", "reg", "symmetrize", "measure", "axis", "gap", "nodes", "degree", "trials"),
)
"""Fields of the state, in the order in which the controls stand."""

TITLES = {
    "strength-residual": "Residual network",
    "strength-diffusion": "Diffusion",
    "strength-pagerank": "PageRank",
    "layers": "Where depth stops helping",
    "axis": "Accuracy along one parameter of the data",
    "gap": "What is left to gain",
    "spectrum": "The filter on the spectrum",
    "depth": "Along the depth",
    "table": "Every family at its best",
}

_FORMULAS = {
    "strength": r"""
A network has outputs $h = g(a)\,Xw/\sqrt N$. At infinite regularization a test node has the margin
$m = \mathrm{mean}/\sqrt{\mathrm{var}}$ of its output, and the accuracy is $\Phi(m)$ for two equal classes (section 4 of the
theory page;
for more classes $\Phi_C(m)$, section 8). Residual network: $g(a) = (a + c)^K$; diffusion: $e^{ta}$; PageRank:
$(1 - \theta a)^{-1}$; each up to a factor.""",
    "axis": r"""
The ceiling solves $q = \rho + (1-\rho)\,T_C(m)$, $m = \lambda_s^2 q + \frac{\mu^2}{\alpha}\frac{q}{1 + \mu q}$, and its
accuracy is $\Phi_C(\sqrt m)$ (theory page, sections 5 and 8).""",
    "layers": r"""
A residual network of $K$ layers has the filter $g(a) = (a + c)^K$. With $c = K/t$ it tends to the diffusion $e^{ta}$, up to a
factor, for many layers; with $c$ kept, only the largest eigenvalues are left and the nodes become alike (theory page, sections 2
and 4).""",
    "gap": r"""
Bayes-optimal accuracy minus the largest accuracy over the strengths of the family, at infinite regularization, or minus the
accuracy of the network with its strength, loss and regularization as they are.""",
    "spectrum": r"""
A symmetric operator has the bulk $\frac{1}{2\pi}\sqrt{4 - x^2}$ and, if $|\lambda_e| > 1$, a spike at
$\lambda_e + 1/\lambda_e$. A filter enters by its values there (theory page, section 2).""",
    "depth": r"""
$m_k = \frac1N y \cdot h_k$ is the overlap of the hidden states with the labels, $Q_{kk} = \frac1N |h_k|^2$ their power
(theory page, section 3).""",
    "table": r"""
Each line is the maximum over the parameters of its family and over the regularization.""",
}


def layout(start: State, sentence: str = "") -> Any:
    """The page with a state to begin with; each load of the page is a client of its own."""
    return html.Div(
        [
            dcc.Location(id="url", refresh=False),
            dcc.Store(id="client", data=uuid.uuid4().hex),
            dcc.Store(id="limits", data={name: limit._asdict() for name, limit in LIMITS.items()}),
            dcc.Store(id="state"),
            dcc.Store(id="theme", data="light"),
            dcc.Store(id="dots"),
            dcc.Store(id="asked"),
            dcc.Store(id="start", data=start.query()),
            dcc.Interval(id="tick", interval=400, disabled=True),
            dcc.Download(id="csv"),
            html.Header(
                [
                    html.H1("gcnlimit explorer"),
                    html.P(
                        "Exact accuracy of graph convolutional networks on the contextual stochastic block model, in the limit "
                        "of large graphs, and how far it is from the best possible."
                    ),
                ]
            ),
            html.Div(sentence, id="message", role="status", className="message", **{"aria-live": "polite"}),
            html.Div(id="refusal", className="message"),
            html.Div(id="spoken", role="status", className="spoken", **{"aria-live": "polite"}),
            _verdict(),
            html.Div(
                [html.Aside(_controls(start), **{"aria-label": "Controls"}), html.Main(_pictures(start))],
                className="columns",
            ),
        ],
        className="explorer",
    )


def _controls(start: State) -> list[Any]:
    return [
        _group("Start from", _presets(), _upload()),
        _group(
            "Data",
            *(_number(name, start) for name in ("alpha", "lam", "mu", "rho")),
            _text("classes", "Classes: their number, or fractions", start),
            _switch("directed", "Directed graph", start.directed),
        ),
        _group(
            "Network",
            _choice("family", "Family", FAMILIES, start.family),
            *(_number(name, start) for name in ("depth", "c", "t", "theta")),
            _text("coefficients", "Coefficients of the polynomial", start),
            _choice("loss", "Loss", CHOICES["loss"], start.loss),
            _switch("infinite", "Infinite regularization", math.isinf(start.reg)),
            _number("reg", start.replaced(reg=1.0) if math.isinf(start.reg) else start),
            _switch("symmetrize", "Symmetrize the graph", start.symmetrize),
            html.Button("Best", id="best", title="Tune the strength, and a finite regularization with it"),
        ),
        _group(
            "Try it on sampled graphs",
            *(_number(name, start) for name in ("nodes", "degree", "trials")),
            html.Button("Sample", id="sample"),
            html.Button("Stop", id="stop", disabled=True),
            html.Progress(id="progress", value="0", max="1", **{"aria-label": "Graphs sampled"}),
            html.Span("", id="progress-text", role="status"),
        ),
        _group(
            "This page",
            _choice("mode", "Colours", ("automatic", "light", "dark"), "automatic"),
            html.Div(
                [html.Span("Link to this state "), dcc.Clipboard(id="link", title="Copy the link")], className="row"
            ),
        ),
    ]


def _presets() -> Any:
    buttons = [html.Button(name, id={"preset": name}, className="preset") for name in PRESETS]
    return html.Details([html.Summary("A point worth a look"), *buttons])


def _upload() -> Any:
    return dcc.Upload(
        html.Button(f"My graph: .npz, or edges and nodes as .csv (up to {LARGEST // 2**20} MB)"),
        id="upload",
        multiple=True,
        max_size=LARGEST,
    )


def _group(title: str, *children: Any) -> Any:
    return html.Details([html.Summary(title), *children], open=True, className="group")


def _number(name: str, start: State) -> Any:
    limit, label = LIMITS[name], long_name(name)
    value = getattr(start, name)
    step = 1 if limit.whole else "any"
    return html.Div(
        [
            html.Label(f"{label} ({name})", htmlFor=name),
            dcc.Input(id=f"{name}-slider", type="range", min=0, max=1000, step=1, value=position(name, value)),
            dcc.Input(id=name, type="number", min=limit.low, max=limit.high, step=step, value=value, debounce=True),
        ],
        className="number",
        id=f"{name}-control",
    )


def position(name: str, value: float) -> float:
    """Position of a slider, 0 ... 1000.

    >>> position("lam", 0.0), position("alpha", 100.0)
    (500, 1000)
    """
    limit = LIMITS[name]
    low, high, at = (math.log(v) if limit.log else v for v in (limit.low, limit.high, value))
    return round(1000 * (at - low) / (high - low))


def _text(name: str, label: str, start: State) -> Any:
    field = dcc.Input(id=name, type="text", value=getattr(start, name), debounce=True, maxLength=80)
    return html.Div([html.Label(label, htmlFor=name), field], className="number", id=f"{name}-control")


def _choice(name: str, label: str, options: Any, value: str) -> Any:
    field = dcc.RadioItems(list(options), value, id=name, inline=True, className="choice")
    return html.Div([html.Div(label, className="label"), field], role="radiogroup", **{"aria-label": label})


def _switch(name: str, label: str, value: bool) -> Any:
    return dcc.Checklist([{"label": f" {label}", "value": "yes"}], ["yes"] if value else [], id=name)


def _verdict() -> Any:
    """The two questions of the page, with their answers at the point that it shows."""
    answers = [html.Dt("Where does depth stop helping?"), html.Dd(id="depth-answer")]
    answers += [html.Dt("What is left to gain?"), html.Dd(id="gain-answer")]
    return html.Section(
        html.Dl(answers), className="verdict", tabIndex="0", **{"aria-label": "Answers at this point"}
    )  # reached by the keyboard, since it is scrolled on narrow screens


def _pictures(start: State) -> list[Any]:
    first = [_picture(name) for name in TITLES if name.startswith("strength")]
    axis = _choice("axis", "Along", [{"label": _axis_label(a), "value": a} for a in AXES], start.axis)
    whose = [{"label": "the best of the family", "value": "best"}, {"label": "this network", "value": "network"}]
    measure = [{"label": words, "value": name} for name, words in MEASURES.items()]
    return [
        html.Section(
            [
                html.H2("Against the strength of the filter"),
                _choice("measure", "Drawn", measure, start.measure),
                html.Div(first, className="grid"),
            ]
        ),
        html.Section(
            [_picture("axis", axis), _picture("gap", _choice("gap", "Of", whose, start.gap))], className="grid"
        ),
        html.Section([_picture("layers"), _picture("depth")], className="grid"),
        html.Section([_picture("spectrum"), _picture("table")], className="grid"),
    ]


def _axis_label(axis: str) -> str:
    return "number of classes" if axis == "classes" else long_name(axis)


def _picture(name: str, *above: Any) -> Any:
    kind = name.partition("-")[0]
    shown = (
        html.Div(id=f"{name}-shown", className="table")
        if name == "table"
        else dcc.Graph(id=f"{name}-shown", config={"displayModeBar": False}, style={"height": "340px"})
    )
    take = [html.Button("CSV", id={"take": "csv", "of": name}, **_named("CSV", name))]
    if name != "table":
        files = {kind_: kind_.upper() for kind_ in ("png", "svg")}
        take += [html.Button(text, id=f"{name}-{kind_}", **_named(text, name)) for kind_, text in files.items()]
    return html.Figure(
        [
            html.H3(TITLES[name], id=f"{name}-title"),
            *above,
            shown,
            html.Figcaption(id=f"{name}-sentence"),
            html.Div(take, className="row"),
            html.Details(
                [
                    html.Summary("Code", **_named("Code", name)),
                    html.Pre(id=f"{name}-code", tabIndex="0", **_named("Code", name)),
                ]
            ),
            html.Details(
                [html.Summary("Formula", **_named("Formula", name)), dcc.Markdown(_FORMULAS[kind], mathjax=True)]
            ),
        ],
        id=f"{name}-figure",
        className="picture",
        **{"aria-labelledby": f"{name}-title"},
    )


def _named(text: str, name: str) -> dict[str, str]:
    """Name of a control for screen readers: its text, and the picture to which it belongs."""
    return {"aria-label": f"{text}: {TITLES[name]}"}
