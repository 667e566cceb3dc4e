"""The audit trail: a sink that drains plan_answered events into Postgres, and the proofs that nothing changed."""
