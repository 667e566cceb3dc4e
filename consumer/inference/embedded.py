"""The embedded proposer: deterministic, offline, no weights. It scores intents by how they say people ask for them."""

from consumer.deadline import Deadline
from consumer.planner.normalise import clean, read
from consumer.planner.propose import MAX_NAMES
from registry import Intent

PHRASE_POINTS = 2


class EmbeddedProposer:
    """Every sample is the same, so two agree at once."""

    remote = False

    async def propose(
        self, question: str, offered: tuple[Intent, ...], kinds: tuple[str, ...], sample: int, deadline: Deadline
    ) -> tuple[str, ...]:
        text = f" {' '.join(read(clean(question)).texts)} "
        points = {intent.name: _points(text, intent) for intent in offered}
        best = sorted((name for name, scored in points.items() if scored), key=lambda name: -points[name])
        return tuple(best[:MAX_NAMES])


def _points(text: str, intent: Intent) -> int:
    phrases = sum(f" {' '.join(read(phrase.lower()).texts)} " in text for phrase in intent.phrases)
    words = sum(f" {word.lower()} " in text for word in intent.words)
    return PHRASE_POINTS * phrases + words
