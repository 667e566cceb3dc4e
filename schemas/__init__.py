"""The wire contract: what other services read and write on Kafka. Imports nothing of ours."""

from schemas.answer import Answer, Dropped, Edge, Plan, Refusal, SelfConsistency
from schemas.audit import PlanAnswered
from schemas.evidence import Column, Evidence
from schemas.question import Principal, Question

__all__ = [
    "Answer",
    "Column",
    "Dropped",
    "Edge",
    "Evidence",
    "Plan",
    "PlanAnswered",
    "Principal",
    "Question",
    "Refusal",
    "SelfConsistency",
]
