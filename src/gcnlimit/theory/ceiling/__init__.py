"""The Bayes-optimal ceiling: evidence, posterior, state evolution; unequal classes; finite degree."""
