"""The console's routes. Every page has its `.json`.

It asks over Kafka like any service, and explains with the very judge that the worker runs. The tenant comes from the
command line or from a trusted proxy's header, never from a page.
"""

from collections.abc import Awaitable, Callable, Sequence
from importlib import resources
from typing import Any
from urllib.parse import parse_qs
from uuid import UUID, uuid4

import msgspec
from msgspec import Struct
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from consumer.asker import Asker
from consumer.console import pages
from consumer.deadline import Deadline
from consumer.errors import PlannerError
from consumer.explanation import Explanation, explain
from consumer.planner.answer import Judge
from schemas import Answer, Principal, Question
from schemas.question import MAX_QUESTION_CHARACTERS

ASK_SECONDS = 30.0
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
STYLE = (resources.files("consumer.console") / "style.css").read_text(encoding="utf-8")

Trail = Callable[[], Awaitable[tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]]]]]
"""The newest audit events and the ends of the chains."""


class Parts(Struct, frozen=True):
    """What the pages need. `tenant_header` names the header of a trusted proxy; empty where there is none."""

    judge: Judge
    asker: Asker
    trail: Trail
    tenant: UUID | None
    tenant_header: str
    scopes: tuple[str, ...]


class Guarding(BaseHTTPMiddleware):
    """Strict headers on every answer, and no form from another site."""

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        site = request.headers.get("sec-fetch-site", "same-origin")
        if request.method == "POST" and site not in ("same-origin", "none"):
            return Response("a form of another site", 403, HEADERS)
        response = await call_next(request)
        response.headers.update(HEADERS)
        return response


def console(parts: Parts) -> Starlette:
    """The application."""

    def tenant_of(request: Request) -> UUID | None:
        if not parts.tenant_header:
            return parts.tenant
        try:
            return UUID(request.headers.get(parts.tenant_header, ""))
        except ValueError:
            return None

    async def asked(request: Request, question: str) -> tuple[Answer, Explanation]:
        tenant = tenant_of(request)
        if tenant is None:
            raise PlannerError("no tenant: start the console with --tenant, or send the proxy's header")
        if not question.strip() or len(question) > MAX_QUESTION_CHARACTERS:
            raise PlannerError(f"a question has 1 to {MAX_QUESTION_CHARACTERS} characters")
        scopes = frozenset(parts.scopes)
        judged = await parts.judge.judge(question, None, scopes, Deadline.after(ASK_SECONDS))
        event = Question(
            question_id=uuid4(), tenant_id=tenant, question=question,
            principal=Principal(subject="planner console", scopes=parts.scopes), deadline_ms=int(ASK_SECONDS * 1_000),
        )  # fmt: skip
        try:
            replied = await parts.asker.ask(event, Deadline.after(ASK_SECONDS))
        except TimeoutError:
            raise PlannerError("no answer in time; is a worker running?") from None
        return replied.answer, explain(question, judged, parts.judge)

    async def ask_page(request: Request) -> Response:
        tenant = str(tenant_of(request) or "none")
        if request.method == "GET":
            return HTMLResponse(pages.page("Ask", tenant, pages.ask_form()))
        question = parse_qs((await request.body()).decode("utf-8", "replace")).get("question", [""])[0]
        try:
            answer, explanation = await asked(request, question)
        except PlannerError as error:
            return HTMLResponse(pages.page("Ask", tenant, pages.problem(str(error), question)), 400)
        return HTMLResponse(pages.page("Answer", tenant, pages.answered(answer, explanation)))

    async def ask_json(request: Request) -> Response:
        try:
            body = msgspec.json.decode(await request.body(), type=dict[str, Any])
            answer, explanation = await asked(request, str(body.get("question", "")))
        except (PlannerError, msgspec.DecodeError) as error:
            return JSONResponse({"error": str(error)}, 400)
        return JSONResponse({"answer": msgspec.to_builtins(answer), "explanation": explanation.to_json()})

    def registry_page(request: Request) -> Response:
        tenant = str(tenant_of(request) or "none")
        return HTMLResponse(pages.page("Registry", tenant, pages.registry_list(parts.judge.registry)))

    def registry_json(_: Request) -> Response:
        registry = parts.judge.registry
        listed = [{"name": i.name, "plane": i.plane, "description": i.description} for i in registry.intents]
        return JSONResponse({"digest": registry.digest, "intents": listed})

    def intent(request: Request) -> Response:
        name = request.path_params["name"]
        found = parts.judge.registry.by_name.get(name.removesuffix(".json"))
        if found is None:
            return Response("there is no such intent", 404)
        if name.endswith(".json"):
            return JSONResponse(msgspec.to_builtins(found))
        return HTMLResponse(pages.page(found.name, str(tenant_of(request) or "none"), pages.intent_page(found)))

    async def audit(request: Request) -> Response:
        events, chains = await parts.trail()
        if request.url.path.endswith(".json"):
            return JSONResponse(msgspec.to_builtins({"events": list(events), "chains": list(chains)}))
        tenant = str(tenant_of(request) or "none")
        return HTMLResponse(pages.page("Audit", tenant, pages.audit_page(events, chains)))

    def style(_: Request) -> Response:
        return Response(STYLE, media_type="text/css")

    return Starlette(
        routes=[
            Route("/", ask_page, methods=["GET", "POST"]),
            Route("/ask.json", ask_json, methods=["POST"]),
            Route("/registry", registry_page),
            Route("/registry.json", registry_json),
            Route("/registry/{name}", intent),
            Route("/audit", audit),
            Route("/audit.json", audit),
            Route("/style.css", style),
        ],
        middleware=[Middleware(Guarding)],
    )
