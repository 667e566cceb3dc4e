"""Kafka, exactly once: lanes, ledgers, records. Knows nothing of plans: a handler turns a record into outgoing ones."""
