"""Problems with exact ceilings, for any model, and how far it is from the best possible.

>>> import gcnlimit as gl
>>> [problem.name for problem in gl.benchmark.problems()][:3]
['reference', 'many-labels', 'heterophily']
"""

from gcnlimit.benchmark.evaluate import evaluate
from gcnlimit.benchmark.problems import SIZES, VERSION, Exact, Problem, problems
from gcnlimit.benchmark.ranking import Ranking
from gcnlimit.benchmark.scores import Line, Run, Scores, merge, published
from gcnlimit.benchmark.task import Task

__all__ = ["SIZES", "VERSION", "Exact", "Line", "Problem", "Ranking", "Run", "Scores", "Task"]
__all__ += ["evaluate", "merge", "problems", "published"]
