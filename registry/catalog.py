"""Loads a registry folder and proves it."""
class Registry: ...
def load(folder: str = "") -> Registry:
    raise NotImplementedError
