"""Is my graph in the regime where depth helps?

It does where many layers, at the right residual strength, beat one layer by more than you care about; where the graph is too
weak, one layer is enough. Give your data; the answer is exact for large graphs.

    python examples/depth_helps.py --alpha 4 --lam 1 --mu 2 --rho 0.1
"""

import argparse
import math

import gcnlimit as gl


def best(data: gl.CSBM, network: gl.Filter, free: str) -> gl.results.Prediction:
    """Performance of a network, its parameter at its best."""
    return gl.tune(data, gl.GCN(network, symmetrize=True), {free: (-math.inf, math.inf)}).prediction


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, default in {"alpha": 4.0, "lam": 1.0, "mu": 2.0, "rho": 0.1}.items():
        parser.add_argument(f"--{name}", type=float, default=default)
    parser.add_argument(
        "--worth", type=float, default=0.01, help="gain in accuracy that is worth the depth"
    )
    given = vars(parser.parse_args())
    worth = given.pop("worth")
    data = gl.CSBM(**given)

    alone = gl.predict(data, gl.GCN(gl.Diffusion(0.0), symmetrize=False)).test_accuracy
    one = best(data, gl.Residual([1.0]), "c").test_accuracy
    many = best(data, gl.Diffusion(1.0), "t").test_accuracy
    print(f"features alone          {alone:.4f}")
    print(f"one layer               {one:.4f}")
    print(f"infinitely many layers  {many:.4f}")
    print(f"best possible           {gl.bayes_optimal(data).test_accuracy:.4f}")
    if many - one > worth:
        print(f"Conclusion: depth helps, by up to {many - one:.4f}.")
    elif one - alone > worth:
        print(f"Conclusion: one layer is enough; more gain at most {many - one:.4f}.")
    else:
        print(f"Conclusion: the graph hardly helps; it gains at most {many - alone:.4f}.")


if __name__ == "__main__":
    main()
