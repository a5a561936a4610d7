r"""What a graph may be: one answer for every function that takes your graph.

`GraphClassifier`, `estimate`, `recommend`, `describe`, `Instance.of`, the networks of `gcnlimit.nn` and the readers of
`gcnlimit.real` check a graph in one place, and all of them give the same graph the same operator.

**Form.** An adjacency matrix: SciPy sparse of any format, a dense array or list, a square data frame, or a NetworkX graph, one
row and one column for each node. A list of edges becomes one by `real.from_edges` or `real.read`.

**Self-loops** are dropped: an operator adds its own where it needs them. A data set says so in its `notes`; other functions
warn if more than half of the nodes have one. Only graphs that `sample` draws keep theirs, since the model draws every pair of
nodes, a node with itself included.

**Weights** are positive and kept as they are; 1 is a plain edge. Their unit plays no part, since the operator divides them by
:math:`\sum A_{ij}^2 / \sum A_{ij}`. Negative weights are refused: nothing here models an edge that repels. An edge that is given
twice has the sum of its weights; in a list without weights it is one edge. A degree counts edges, not weights.

**Direction** is kept. :math:`A_{ij}` is the edge from node :math:`i` to node :math:`j`, and a graph is directed if its matrix
is not symmetric. `real.read(..., undirected=True)` ignores the direction of a list of edges, and each method says how it uses
a directed graph.

**Isolated nodes** are kept; their features alone classify them. A graph needs an edge, and for an estimate a pair of nodes
without one.

**Labels** are whole numbers or strings, one for each node. In Python -1, NaN, None and the empty string mark an unlabelled
node; in a table also NA, N/A, ?, null and unknown do, in capitals or not. So write two classes -1 and 1 as 0 and 1.

**Missing values.** A matrix of features must be complete. In a table, a missing number becomes the mean of its column, and one
more column marks where numbers were missing; a column of up to 20 words becomes a column of 0 and 1 for each word; dates are
refused, since only you know what about them matters. The `notes` of the data set say what was done.
"""
