"""Training a network on an instance: problem, solvers, bounds."""
