"""Who proposes intents and who writes the words: embedded and deterministic, or a model server."""
