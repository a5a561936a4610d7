"""Choosing a network: parameters tuned, filters without a family, families compared."""
