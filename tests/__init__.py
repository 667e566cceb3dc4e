"""unit mirrors the tree and needs nothing; integration and faults need the real parts that conftest finds or starts."""
