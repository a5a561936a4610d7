"""Which lines of Python give a picture of the explorer?

The address of the page holds its state, and each picture shows the lines of code that give its curve. This script prints
them without a browser.

    python examples/explorer_to_code.py "lam=1.2&mu=2&family=pagerank"
"""

import sys

from gcnlimit.explorer.computations import COMPUTATIONS
from gcnlimit.explorer.pictures import PICTURES, needs
from gcnlimit.explorer.state import State

state = State.of_query(sys.argv[1] if len(sys.argv) > 1 else "lam=1.2&mu=2&family=pagerank")
name = f"strength-{state.family}"
numbers = {
    part: COMPUTATIONS[part].compute(COMPUTATIONS[part].key(state)) for part in needs(name, state)
}
picture = PICTURES[name].draw(state, numbers)
print(picture.python)
print(
    f"Conclusion: these lines print the {len(picture.curves[0].y)} numbers of the curve; so does\n{picture.command}"
)
