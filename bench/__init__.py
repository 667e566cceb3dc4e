"""Ratios against references, measured in one run on one machine."""
