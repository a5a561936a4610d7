"""Along the depth: order functions of the layers, oversmoothing and learning rates."""
