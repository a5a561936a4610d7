"""The ceiling of three or more classes of unequal sizes, whose order parameter is a matrix (§8)."""
