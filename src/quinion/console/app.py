"""The ASGI app of the console: its routes, and what surrounds them."""

import logging
from collections.abc import Awaitable, Callable
from importlib.resources import files

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from quinion.console.calls import Calls
from quinion.console.folder_routes import make_folder_routes
from quinion.console.gate import Gate, SecurityHeaders
from quinion.console.jobs import JobMissing, Jobs
from quinion.console.rendering import FAILED, Pages, View, read_number, show_error
from quinion.console.session import Sessions
from quinion.console.site import HEALTH
from quinion.console.uploads import Uploads
from quinion.console.views import library, policies
from quinion.console.views.documents import Documents
from quinion.console.views.evidence import fetch_page
from quinion.console.views.health import Health
from quinion.console.views.search import KINDS, show_search
from quinion.console.watches import Watches
from quinion.errors import QuinionError
from quinion.model.record import Mode
from quinion.servers.document_store.listing import check_ref
from quinion.servers.http import check_host
from quinion.servers.registry import CATALOG
from quinion.servers.search_mode import choose_mode
from quinion.settings import Settings

log = logging.getLogger(__name__)

JSON_SUFFIX = ".json"
A_DAY_S = 24 * 3600

Show = Callable[[Request], Awaitable[View | Response]]


def build_app(
    settings: Settings,
    sessions: Sessions,
    calls: Calls,
    jobs: Jobs,
    watches: Watches,
    uploads: Uploads,
    health: Health,
) -> ASGIApp:
    """Build the app. The queue of `jobs` must run."""
    pages = Pages()
    documents = Documents(calls, jobs, uploads)

    async def search(request: Request) -> View:
        return await show_search(
            calls, request.query_params, choose_mode(None, settings, Mode.HYBRID)
        )

    async def list_policies(_: Request) -> View:
        return await policies.show_list(calls)

    async def show_policy(request: Request) -> View:
        return await policies.show(calls, request.path_params["source"], request.query_params)

    async def compare_policy(request: Request) -> View:
        source, given = request.path_params["source"], request.query_params
        return await policies.show_comparison(calls, source, given, read_number(given, "part", 1))

    async def list_library(request: Request) -> View:
        return await library.show_list(calls, request.query_params)

    async def show_gallery(request: Request) -> View:
        return await library.show(calls, request.path_params["slug"], request.query_params)

    async def show_page(request: Request) -> View:
        slug, number = request.path_params["slug"], request.path_params["number"]
        return await library.show_page(calls, slug, number)

    async def picture(request: Request) -> Response:
        return await library.fetch_picture(calls, request.query_params)

    async def page_image(request: Request) -> Response:
        return await fetch_page(calls, KINDS, request.query_params)

    async def table(request: Request) -> Response:
        return await library.fetch_csv(calls, request.query_params)

    async def list_documents(request: Request) -> View:
        return await documents.show_list(request.query_params)

    async def show_document(request: Request) -> View:
        return await documents.show(request.path_params["id"], request.query_params)

    async def download(request: Request) -> Response:
        return await documents.download(request.path_params["id"])

    async def document_page(request: Request) -> Response:
        id_, number = request.path_params["id"], request.path_params["number"]
        return await documents.fetch_page(id_, number, request.query_params.get("size", ""))

    async def delete_document(request: Request) -> Response:
        deleted = await documents.delete(request.path_params["id"])
        return JSONResponse(deleted, headers={"HX-Redirect": "/documents"})

    async def ingest_again(request: Request) -> Response:
        job = await documents.ingest_again(request.path_params["id"])
        return JSONResponse(job, headers={"HX-Redirect": "/documents"})

    async def upload(request: Request) -> Response:
        given = request.query_params
        application = check_ref(given.get("application", ""))
        length = request.headers.get("content-length", "")
        size = int(length) if length.isdigit() else None
        path = await uploads.receive(given.get("name", ""), size, request.stream())
        return JSONResponse(documents.ingest_upload(path, application, given.get("type", "")), 202)

    async def list_jobs(_: Request) -> View:
        return View("jobs.html", "Jobs", {"jobs": [job.describe() for job in jobs.list()]})

    async def change_job(request: Request) -> View:
        change = {"cancel": jobs.cancel, "retry": jobs.retry, "dismiss": jobs.dismiss}
        if (named := request.path_params["change"]) not in change:
            raise JobMissing(f"A job cannot {named[:100]!r}.")
        change[named](int(request.path_params["number"]))
        return await list_jobs(request)

    async def show_health(_: Request) -> View:
        return await health.show()

    async def check(_: Request) -> View:
        return await health.check(CATALOG)

    async def measure(_: Request) -> View:
        return await health.measure()

    async def back_up(_: Request) -> Response:
        name = await health.back_up()
        return JSONResponse({"name": name}, headers={"HX-Redirect": f"/engine/backup/{name}"})

    async def send_backup(request: Request) -> Response:
        return await health.send_backup(request.path_params["name"])

    async def alive(_: Request) -> Response:
        return Response(status_code=204)

    async def answer_health(_: Request) -> Response:
        return JSONResponse({"status": "ok"})

    def route(path: str, show: Show, method: str = "GET") -> Route:
        return Route(path, _answer(show, pages), methods=[method])

    app = Starlette(
        routes=[
            Route(HEALTH, answer_health),
            Route("/alive", alive),
            Mount("/static", _Static(directory=str(files("quinion.console") / "static"))),
            route("/", search),
            route("/search", search),
            route("/documents", list_documents),
            route("/documents/upload", upload, "POST"),
            route("/documents/{id}", show_document),
            route("/documents/{id}/file", download),
            route("/documents/{id}/page/{number:int}", document_page),
            route("/documents/{id}/delete", delete_document, "POST"),
            route("/documents/{id}/ingest", ingest_again, "POST"),
            route("/engine", show_health),
            route("/engine/sizes", measure),
            route("/engine/check", check, "POST"),
            route("/engine/backup", back_up, "POST"),
            route("/engine/backup/{name}", send_backup),
            route("/jobs", list_jobs),
            route("/jobs/{number:int}/{change}", change_job, "POST"),
            route("/policies", list_policies),
            route("/policies/{source}", show_policy),
            route("/policies/{source}/compare", compare_policy),
            route("/evidence", page_image),
            route("/library", list_library),
            route("/library/picture", picture),
            route("/library/table", table),
            route("/library/{slug}", show_gallery),
            route("/library/{slug}/page/{number:int}", show_page),
            *make_folder_routes(route, calls, jobs, watches),
        ],
        exception_handlers={HTTPException: _show_http_error(pages)},
    )
    return check_host(SecurityHeaders(Gate(_JsonSuffix(app), sessions, pages)), settings)


def _answer(show: Show, pages: Pages) -> Callable[[Request], Awaitable[Response]]:
    """Make the endpoint of a view: every error becomes a page, or JSON."""

    async def answer(request: Request) -> Response:
        try:
            shown = await show(request)
        except QuinionError as error:
            shown = show_error(error)
        except Exception:
            log.exception("%s %r failed", request.method, request.url.path)
            shown = show_error(
                QuinionError("This is a bug in the console. The log of quinion has the details.")
            )
        return shown if isinstance(shown, Response) else pages.respond(request, shown)

    return answer


def _show_http_error(pages: Pages) -> Callable[[Request, Exception], Response]:
    def show(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else FAILED
        message = error.detail if isinstance(error, HTTPException) else "Failed"
        data = {"error": {"code": f"http_{status}", "message": f"{message}."}}
        return pages.respond(request, View("error.html", message, data, status))

    return show


class _Static(StaticFiles):
    """Static files, whose addresses change with their content."""

    def file_response(self, *args: object, **kwargs: object) -> Response:
        response = super().file_response(*args, **kwargs)  # type: ignore[arg-type]
        response.headers["Cache-Control"] = f"private, max-age={A_DAY_S}"
        return response


class _JsonSuffix:
    """ASGI middleware: `.json` behind the address of a view asks for JSON."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith(JSON_SUFFIX):
            path = scope["path"].removesuffix(JSON_SUFFIX)
            scope = {**scope, "path": path, "quinion.json": True}
        await self._app(scope, receive, send)
