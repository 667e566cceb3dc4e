"""The embedded proposer: deterministic, offline, no weights. It picks what each clause of a question asks for most."""

from consumer.deadline import Deadline
from consumer.planner.classify import Vocabulary
from consumer.planner.propose import MAX_NAMES
from registry import Intent


class EmbeddedProposer:
    """Scores every intent of the Registry, and proposes those that were offered: where the best intent of a clause
    can't run, the next best would answer another question. Every sample is the same, so two agree at once."""

    remote = False

    def __init__(self, vocabulary: Vocabulary, intents: tuple[Intent, ...]) -> None:
        self._vocabulary = vocabulary
        self._planes = frozenset(intent.plane for intent in intents)

    async def propose(
        self, question: str, offered: tuple[Intent, ...], kinds: tuple[str, ...], sample: int, deadline: Deadline
    ) -> tuple[str, ...]:
        """The fitting names, best first."""
        names = {intent.name for intent in offered}
        fits = self._vocabulary.fits(question, frozenset(kinds), self._planes)
        best = sorted((fit for fit in fits if fit.intent in names), key=lambda fit: -fit.score)
        return tuple(fit.intent for fit in best[:MAX_NAMES])
