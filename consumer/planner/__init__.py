"""The stages, in the order a question meets them: guard, extract, route, propose, plan, run, suppress, narrate,
gate, render. `answer` composes them and is the only place that knows their order. Nothing here knows Kafka."""
