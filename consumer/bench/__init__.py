"""Counts of people: a fixed lattice of groups, published by rule, looked up by the bench intents."""
