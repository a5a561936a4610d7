"""The picture of docs/reference/answers.md: everything that has a method ``plot``, once.

python docs/scripts/pictures.py docs/images/pictures.png
"""

import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("agg")

import matplotlib.pyplot as plt
import numpy as np

import gcnlimit as gl

GCN = gl.GCN(gl.Diffusion(t=1.5), loss="logistic", reg=0.1)


def draw(path: str) -> None:
    """Draw six panels, each with the call that fills it as its title."""
    figure, panels = plt.subplots(2, 3, figsize=(14, 8), layout="constrained")
    first, second, third, fourth, fifth, sixth = panels.flat
    line = gl.CSBM(alpha=4, lam=np.linspace(0.2, 2.0, 19), mu=2.0, rho=0.1)
    gl.predict(line, GCN).plot(axes=first)
    gl.simulate(line.replaced(lam=[0.4, 1.0, 1.6]), GCN, nodes=1500, trials=4, seed=0).plot(
        axes=first
    )
    first.set_title("predict(...).plot(), simulate(...).plot()")
    gl.compare(gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1), depth=2, reg=np.inf).plot(axes=second)
    second.set_title("compare(...).plot()")
    plane = gl.CSBM(
        alpha=4, lam=np.linspace(0.1, 2.0, 20)[:, None], mu=np.linspace(0.1, 4.0, 20), rho=0.1
    )
    gl.gap_map(plane, gl.GCN(gl.Diffusion(1.0)), {"t": (0, 10)}).plot("gap", axes=third)
    third.set_title('gap_map(...).plot("gap")')
    gl.predict(line.replaced(lam=1.0), GCN).calibration.plot_reliability(axes=fourth)
    fourth.set_title("predict(...).calibration.plot_reliability()")
    texas = gl.real.read(Path(__file__).parents[2] / "examples" / "data" / "texas.npz")
    gl.describe(texas.X, texas.training(), texas.graph).plot(axes=fifth)
    fifth.set_title("describe(...).plot()")
    gl.recommend(texas.X, texas.training(), texas.graph).plot(axes=sixth)
    sixth.set_title("recommend(...).plot()")
    for panel in panels.flat:
        panel.xaxis.label.set_fontsize("small")
    figure.savefig(path, dpi=80)


if __name__ == "__main__":
    draw(sys.argv[1])
