"""A model whose module replaces the judge's functions when it is imported."""

import cheats

cheats.forge()


def model(task):
    """Scores of no merit."""
    return task.targets
