"""A graph that is given: its parts checked, in the units of the model, and its signals estimated from the labelled nodes."""
