"""Your own graph: classify its nodes, estimate the model it resembles, recommend a network, describe it."""
