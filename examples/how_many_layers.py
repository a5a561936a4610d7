"""How many layers should my network have, and how strong should its residual connections be?

Each depth at its best strength; the answer is the first depth that comes within --tolerance of infinite depth.

    python examples/how_many_layers.py --alpha 4 --lam 1 --mu 2 --rho 0.1
"""

import argparse
import math

import gcnlimit as gl

DEPTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}.items():
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument("--tolerance", type=float, default=0.002)
    given = vars(parser.parse_args())
    tolerance = given.pop("tolerance")
    data = gl.CSBM(**given)

    limit = gl.tune(data, gl.GCN(gl.Diffusion(1.0), symmetrize=True), {"t": (-math.inf, math.inf)})
    ceiling = limit.prediction.test_accuracy
    print("depth  best c  accuracy  below infinite depth")
    enough = None
    for depth in DEPTHS:
        network = gl.GCN(gl.Residual.constant(1.0, depth), symmetrize=True)
        found = gl.tune(data, network, {"c": (-math.inf, math.inf)})
        c, accuracy = found.parameters["c"], found.prediction.test_accuracy
        print(f"{depth:5}{c:8.2f}{accuracy:10.4f}{ceiling - accuracy:22.4f}")
        if ceiling - accuracy < tolerance:
            enough = depth, c
            break
    print(f"  inf{'':8}{ceiling:10.4f}   diffusion time t = {limit.parameters['t']:.3f}")
    if enough:
        print(
            f"Conclusion: {enough[0]} layers with c = {enough[1]:.2f} are within {tolerance:g} of infinite depth."
        )
    else:
        print(
            f"Conclusion: more than {DEPTHS[-1]} layers; apply the exponential of the graph instead."
        )


if __name__ == "__main__":
    main()
