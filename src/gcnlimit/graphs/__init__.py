"""A graph that a user brings: checked, read and written, as an operator, in the units of the model."""
