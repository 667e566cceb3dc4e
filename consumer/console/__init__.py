"""A small read only page: ask, and see why the answer is what it is. Loopback by default, nothing from elsewhere."""
