"""Grids of answers: any producer over any parameters, labelled, resumable, on one core or on a cluster."""
