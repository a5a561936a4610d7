"""Sampled graphs: draw, train, measure, infer."""
