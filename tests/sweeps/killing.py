"""Run as a program: fork a sweep again and again, kill it at random moments, until every block is in the store.

python killing.py STORE SEED prints the number of kills that found the sweep between its first and last block.
"""

import itertools
import os
import random
import signal
import sqlite3
import sys
import time

import numpy as np

import gcnlimit as gl

AXES = {"depth": range(1, 31), "symmetrize": [True, False], "lam": np.linspace(0.0, 2.0, 40)}
BLOCKS = 60


def run(store=None, axes=AXES):
    data, gcn = (
        gl.CSBM(alpha=4, lam=1.0, mu=2.0, rho=0.1),
        gl.GCN(gl.Residual([0.7]), symmetrize=False),
    )
    return gl.sweep(gl.predict, data=data, gcn=gcn, axes=axes, store=store)


def blocks_in(store, running=False):
    """Number of blocks; of a store that is `running`, without waiting for its locks."""
    try:
        connection = sqlite3.connect(
            f"file:{store}" + ("?immutable=1" if running else ""), uri=True
        )
        return connection.execute("SELECT count(*) FROM blocks").fetchone()[0]
    except sqlite3.DatabaseError:  # killed before the table was made, or seen while it is written
        return 0
    finally:
        connection.close()


def main(store, seed):
    run(axes={"depth": [1]})  # imports everything before the forks, so that they start at once
    moments = random.Random(seed)
    kills = 0
    for attempt in itertools.count():
        child = os.fork()
        if child == 0:
            run(store)
            os._exit(0)
        time.sleep(moments.uniform(0.0, 0.03 + 0.01 * attempt))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        done = blocks_in(store)
        if done == BLOCKS:
            break
        kills += done > 0
    print(kills)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
