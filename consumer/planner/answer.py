"""The stages composed: one question in, one answer and at most one audit event out.

The only place that knows the order of the stages. What a question may hold never raises: a question that can't be
answered is refused, or told what is missing. Raised are `Transient`, where a part is away and the question may be
tried again, and whatever is a fault of ours.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import UTC, date, datetime
from functools import cache
from types import TracebackType
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from prometheus_client import Counter, Histogram

import schemas
from consumer import __version__
from consumer.deadline import Deadline
from consumer.documents import search as documents
from consumer.errors import Transient
from consumer.observe import metrics, tracing
from consumer.planner.classify import Vocabulary
from consumer.planner.evidence import Evidence, to_wire
from consumer.planner.extract import Params, extract
from consumer.planner.gate import gate
from consumer.planner.guard import Guard, Verdict
from consumer.planner.narrate import BadSlots, Narrator, narrate
from consumer.planner.normalise import clean
from consumer.planner.plan import Plan, bindable, spans_taken, validate
from consumer.planner.propose import PlanCache, Proposal, Proposer, masked, plan_key, propose_stable
from consumer.planner.render import clarification, rendering
from consumer.planner.route import Decision, route
from consumer.planner.run import Asking, Ran, Session, run
from consumer.planner.suppress import suppress
from registry import Intent, Registry
from registry.intent import ColumnType
from schemas import Answer, PlanAnswered, Refusal, SelfConsistency
from schemas.answer import Faithfulness, Outcome, RationaleSource, Route, Status

NARRATION_SHARE = 0.6
"""How much of the time left a narration may take."""


class Asked(Struct, frozen=True):
    """One question as the planner takes it: who asks, what, with which rights, and the day that counts as today."""

    question_id: UUID
    tenant_id: UUID
    event_id: UUID
    question: str
    intent: str | None
    scopes: frozenset[str]
    as_of: date


class Judged(Struct, frozen=True):
    """What the pure stages before any query made of a question; `planner explain` prints it."""

    verdict: Verdict
    text: str
    scopes: frozenset[str]
    params: Params
    decision: Decision
    proposal: Proposal | None = None
    plan: Plan = Plan(())


class Told(Struct, frozen=True):
    """The words of an answer and how they came about."""

    text: str
    source: RationaleSource
    faithfulness: Faithfulness


Transaction = Callable[[UUID, Deadline], AbstractAsyncContextManager[Session]]
"""The tenant's read only transaction (`consumer.store.tenant`)."""


class Judge:
    """The stages before the first query: guard, extract, route, propose, validate, default deny. Needs no database.

    Shared by all questions and holds none of them.
    """

    def __init__(
        self,
        registry: Registry,
        guard: Guard,
        vocabulary: Vocabulary,
        proposer: Proposer,
        samples: int,
        cache: PlanCache,
    ) -> None:
        self.registry, self.guard, self.vocabulary = registry, guard, vocabulary
        self.proposer, self.samples, self.cache = proposer, samples, cache

    async def judge(self, question: str, intent: str | None, scopes: frozenset[str], deadline: Deadline) -> Judged:
        """Every stage before the first query: guard, extract, route, propose, validate, default deny."""
        with stage("guard"):
            verdict = self.guard.check(question)
        text = clean(question)
        if not verdict.passed:
            return Judged(verdict, text, scopes, {}, Decision(Route.REFUSED, "the guard refused the question"))
        with stage("extract"):
            params = extract(text, self.registry.reference)
        with stage("route"):
            decision = route(text, intent, params, self.registry, self.vocabulary, scopes)
        judged = Judged(verdict, text, scopes, params, decision)
        if decision.route is Route.INTENT:
            judged = self._judge_single(judged)
        elif decision.route is Route.PLAN:
            judged = await self._judge_plan(judged, deadline)
        return self._default_deny(judged)

    def bindable(self, judged: Judged) -> tuple[Intent, ...]:
        """What this asker may run and this question can bind."""
        return bindable(self.registry, judged.params, judged.scopes) if judged.params else ()

    def _judge_single(self, judged: Judged) -> Judged:
        plan = validate(judged.decision.wanted, self.registry, judged.params, judged.scopes)
        return replace(judged, plan=plan)

    async def _judge_plan(self, judged: Judged, deadline: Deadline) -> Judged:
        with stage("propose"):
            offered = self.bindable(judged)
            kinds = tuple(sorted(kind for kind, found in judged.params.items() if found.usable))
            proposal = await self._propose(judged, offered, kinds, deadline)
        metrics.AGREEMENT.labels(proposal.outcome.value).inc()
        metrics.UNKNOWN_NAMES.inc(proposal.unknown)
        with stage("plan"):
            # what the question asks for and nobody was offered is named among what the plan leaves out
            out_of_reach = set(judged.decision.wanted) - {intent.name for intent in offered}
            plan = validate((*proposal.names, *out_of_reach), self.registry, judged.params, judged.scopes)
        if plan.nodes:
            return replace(judged, proposal=proposal, plan=plan)
        # The samples agree on nothing that can run: what the route found stands in, else the documents.
        plan = validate(judged.decision.wanted[:1], self.registry, judged.params, judged.scopes)
        fallback = Route.INTENT if plan.nodes else Route.RAG
        decision = Decision(fallback, "no stable plan; " + judged.decision.reason, judged.decision.wanted)
        return replace(judged, proposal=proposal, plan=plan, decision=decision)

    async def _propose(
        self,
        judged: Judged,
        offered: tuple[Intent, ...],
        kinds: tuple[str, ...],
        deadline: Deadline,
    ) -> Proposal:
        question = masked(judged.text, spans_taken(judged.params, self.registry))
        key = plan_key(self.registry.digest, question, kinds, judged.scopes)
        kept = self.cache.get(key)
        metrics.PLAN_CACHE.labels("hit" if kept else "miss").inc()
        if kept is not None:
            return kept
        proposal = await propose_stable(self.proposer, question, offered, kinds, self.samples, deadline)
        self.cache.put(key, proposal)
        return proposal

    def _default_deny(self, judged: Judged) -> Judged:
        """The guard's second layer: where people are counted, every word must be one that the query takes."""
        counted = any(self.registry.plane(node.intent.plane).suppressed for node in judged.plan.nodes)
        if not counted and (judged.plan.nodes or not self.guard.about_people(judged.text)):
            return judged
        spans = [span for found in judged.params.values() for span in found.spans]
        unexplained = self.guard.unexplained(judged.text, spans, ())
        verdict = self.guard.unsupported(unexplained)
        if verdict.passed:
            return judged
        decision = Decision(Route.REFUSED, "the question holds words that no count of people takes")
        return replace(judged, verdict=verdict, decision=decision, plan=Plan(()))


class Planner:
    """Judges a question, then answers it from the tenant's rows or documents."""

    def __init__(self, judge: Judge, transaction: Transaction, k: int, narrator: Narrator | None = None) -> None:
        self.judge, self.transaction, self.k, self.narrator = judge, transaction, k, narrator
        self.registry = judge.registry

    async def answer(self, asked: Asked, deadline: Deadline) -> tuple[Answer, PlanAnswered | None]:
        """The answer, and the audit event where a plan ran. Raises Transient."""
        started = time.monotonic()
        judged = await self.judge.judge(asked.question, asked.intent, asked.scopes, deadline)
        if not judged.verdict.passed:
            return self._refused(asked, judged.verdict, started), None
        match judged.decision.route:
            case Route.CLARIFY | Route.RAG:
                return await self._from_documents(asked, judged, deadline, started), None
            case _:
                return await self._from_plan(asked, judged, deadline, started)

    async def _from_plan(
        self, asked: Asked, judged: Judged, deadline: Deadline, started: float
    ) -> tuple[Answer, PlanAnswered | None]:
        with stage("run"):
            async with self.transaction(asked.tenant_id, deadline) as session:
                ran = await run(judged.plan.nodes, self.registry, session, Asking(asked.tenant_id, asked.as_of, self.k))
        with stage("suppress"):
            evidence = suppress(ran.evidence, self.k)
        for item in evidence:
            metrics.SUPPRESSED.labels(item.intent).inc(item.suppressed_cells)
        told = await self._tell(judged, ran, evidence, deadline)
        if judged.decision.route is Route.INTENT:
            return self._answer(asked, Route.INTENT, told, started, evidence), None
        agreed = _agreement(judged.proposal)
        plan = schemas.Plan(
            intents=ran.names, edges=ran.edges, dropped=(*judged.plan.dropped, *ran.dropped), self_consistency=agreed
        )
        answer = self._answer(asked, Route.PLAN, told, started, evidence, plan=plan, audit_event_id=asked.event_id)
        return answer, self._audit(asked, judged.plan, ran, evidence, told, agreed)

    async def _tell(self, judged: Judged, ran: Ran, evidence: Sequence[Evidence], deadline: Deadline) -> Told:
        """The answer's words: the model's where there is a model and all of its words hold, else the rendering."""
        with stage("render"):
            text = rendering(evidence, (*judged.plan.dropped, *ran.dropped), self._notes(judged))
        rendered = Told(text, RationaleSource.DETERMINISTIC, Faithfulness.PASSED)
        if self.narrator is None or not evidence:
            return rendered
        with stage("narrate"):
            narration = await self._narration(judged, evidence, deadline)
        if narration is None:
            return replace(rendered, faithfulness=Faithfulness.REPLACED)
        return Told(narration, RationaleSource.MODEL, Faithfulness.PASSED)

    async def _narration(self, judged: Judged, evidence: Sequence[Evidence], deadline: Deadline) -> str | None:
        """The model's text if guard and gate let it through; None for whatever reason it may not ship."""
        assert self.narrator is not None
        question = masked(judged.text, spans_taken(judged.params, self.registry))
        # what is left of the deadline must do for the answer itself
        soon = deadline.sooner(deadline.remaining() * NARRATION_SHARE)
        try:
            text = await narrate(self.narrator, question, evidence, soon)
        except (Transient, TimeoutError, BadSlots):
            metrics.GATE.labels("no_narration").inc()
            return None
        with stage("gate"):
            verdict = gate(text, evidence)
        metrics.GATE.labels(verdict.code.value).inc()
        if not verdict.supported or not self.judge.guard.check(text, _entities(evidence)).passed:
            return None
        return text

    def _notes(self, judged: Judged) -> list[str]:
        """What a reader should know of the question's own words: a retired code, and words that nothing took."""
        notes = [found.note for found in judged.params.values() if found.usable and found.note]
        spans = [span for found in judged.params.values() for span in found.spans]
        if unused := self.judge.guard.noted(judged.text, spans):
            notes.append(f"not used: {', '.join(unused)}")
        return notes

    async def _from_documents(self, asked: Asked, judged: Judged, deadline: Deadline, started: float) -> Answer:
        """The tenant's documents, quoted. Where they don't hold it and the question has signs of an intent, what that
        intent would need is said instead; a question that lacks a value may be one to the documents all the same."""
        unclear = judged.decision.route is Route.CLARIFY
        try:
            text, evidence = await self._quoted(
                asked, judged, deadline, documents.SURE if unclear else documents.COVERED
            )
        except Transient:
            if not unclear:
                raise
            text, evidence = "", None  # what is missing can be said without them
        if evidence is not None and evidence.rows:
            told = Told(text, RationaleSource.DETERMINISTIC, Faithfulness.PASSED)
            return self._answer(asked, Route.RAG, told, started, [evidence])
        lacks = unclear or evidence is None or bool(judged.decision.needs)
        words = clarification(judged.decision.needs) if lacks else text
        told = Told(words, RationaleSource.DETERMINISTIC, Faithfulness.NOT_APPLICABLE)
        return self._answer(asked, Route.CLARIFY if lacks else Route.RAG, told, started)

    async def _quoted(
        self, asked: Asked, judged: Judged, deadline: Deadline, least: float
    ) -> tuple[str, Evidence | None]:
        """What the documents say, None where the asker may not read them."""
        if documents.SCOPE not in asked.scopes:
            return "", None
        with stage("documents"):
            async with self.transaction(asked.tenant_id, deadline) as session:
                passages = await documents.search(session, asked.tenant_id, judged.text)
            return documents.answer_from(passages, judged.text, asked.as_of, least)

    def _refused(self, asked: Asked, verdict: Verdict, started: float) -> Answer:
        code, message = (verdict.code.value if verdict.code else "refused"), verdict.message or ""
        metrics.REFUSALS.labels(code).inc()
        told = Told(message, RationaleSource.GUARD, Faithfulness.NOT_APPLICABLE)
        refusal = Refusal(code=code, message=message)
        return self._answer(asked, Route.REFUSED, told, started, status=Status.REFUSED, refusal=refusal)

    def _answer(
        self, asked: Asked, way: Route, told: Told, started: float, evidence: Sequence[Evidence] = (), *,
        status: Status = Status.ANSWERED, plan: schemas.Plan | UnsetType = UNSET, refusal: Refusal | UnsetType = UNSET,
        audit_event_id: UUID | UnsetType = UNSET,
    ) -> Answer:  # fmt: skip
        metrics.ROUTES.labels(way.value, status.value).inc()
        metrics.NARRATIONS.labels(told.source.value).inc()
        return Answer(
            question_id=asked.question_id,
            tenant_id=asked.tenant_id,
            status=status,
            route=way,
            answer=told.text,
            rationale_source=told.source,
            evidence=tuple(to_wire(item) for item in evidence),
            plan=plan,
            faithfulness=told.faithfulness,
            refusal=refusal,
            registry_digest=self.registry.digest,
            audit_event_id=audit_event_id,
            answered_at=datetime.now(UTC),
            elapsed_ms=int((time.monotonic() - started) * 1_000),
        )

    def _audit(
        self, asked: Asked, plan: Plan, ran: Ran, evidence: Sequence[Evidence], told: Told, agreed: SelfConsistency
    ) -> PlanAnswered:
        """Names, kinds and counts of the plan; nothing of what it found."""
        return PlanAnswered(
            event_id=asked.event_id,
            tenant_id=asked.tenant_id,
            occurred_at=datetime.now(UTC),
            intents=ran.names,
            param_kinds=plan.kinds,
            node_count=len(ran.evidence),
            suppressed_cells=sum(item.suppressed_cells for item in evidence),
            faithfulness=told.faithfulness,
            self_consistency=agreed,
            registry_digest=self.registry.digest,
            service_version=__version__,
        )


def _agreement(proposal: Proposal | None) -> SelfConsistency:
    if proposal is None:
        return SelfConsistency(samples=0, outcome=Outcome.NONE)
    return SelfConsistency(samples=len(proposal.samples), outcome=proposal.outcome)


def _entities(evidence: Sequence[Evidence]) -> list[str]:
    """Proper names that a narration may hold: they say nothing about people."""
    return [
        cell
        for item in evidence
        for row in item.rows
        for column, cell in zip(item.columns, row, strict=True)
        if column.type is ColumnType.ENTITY and isinstance(cell, str)
    ]


class stage:
    """Times and traces one stage, and counts how questions leave it."""

    __slots__ = ("_name", "_span", "_started")

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        self._started = time.perf_counter()
        self._span = tracing.stage(self._name)
        self._span.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._span.__exit__(kind, error, trace)
        passed, failed, seconds = _measures(self._name)
        if kind is not None:
            failed.inc()
        else:
            passed.inc()
            seconds.observe(time.perf_counter() - self._started)


@cache
def _measures(name: str) -> tuple[Counter, Counter, Histogram]:
    """The time series of one stage: looking one up costs more than counting on it."""
    return (
        metrics.STAGES.labels(name, "ok"), metrics.STAGES.labels(name, "error"),
        metrics.STAGE_SECONDS_HISTOGRAM.labels(name),
    )  # fmt: skip
