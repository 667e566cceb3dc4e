"""Postgres: migrations, loading, and the one way a question reads rows (a tenant's read only transaction)."""
