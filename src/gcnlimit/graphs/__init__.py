"""A user's graph: its check, its files and formats, its operator, in the units of the model."""
