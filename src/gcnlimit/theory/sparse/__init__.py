"""The ceiling at finite mean degree."""
