"""The faithfulness gate: is every sentence of a text borne out by the evidence? Deterministic, claim by claim.

One sentence that is not supported refuses the whole text; the deterministic rendering ships instead. The gate fails
closed: an exception, too long a sentence or too much time is a refusal. The rules are those of faithful table to text
checking: names of one clause in one row, quantities of one type with declared rounding, a closed list of aggregates,
no judgement or forecast, nothing about a withheld cell but that it is withheld, every word accounted for.
"""

from consumer.planner.gate.check import gate
from consumer.planner.gate.evaluate import evaluate
from consumer.planner.gate.verdict import Code, GateVerdict

__all__ = ["Code", "GateVerdict", "evaluate", "gate"]
