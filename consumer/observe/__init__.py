"""What operators see: metrics, health, traces and logs. Never a value, a question or a tenant's name."""
