"""Routes of the indexed folders."""

from collections.abc import Awaitable, Callable
from urllib.parse import urlencode

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from quinion.console.calls import Calls
from quinion.console.jobs import Jobs
from quinion.console.rendering import View
from quinion.console.views import folders
from quinion.console.watches import Watches

MakeRoute = Callable[..., Route]


def make_folder_routes(route: MakeRoute, calls: Calls, jobs: Jobs, watches: Watches) -> list[Route]:
    """Create the routes; `route` makes one from a path, a view and a method."""

    async def list_folders(request: Request) -> View:
        return await folders.show_list(calls, jobs, watches.folders, request.query_params)

    async def show_vanished(_: Request) -> View:
        return await folders.show_vanished(calls)

    async def start_watch(request: Request) -> Response:
        return await change_watch(request, watches.start)

    async def stop_watch(request: Request) -> Response:
        return await change_watch(request, watches.stop)

    async def change_watch(request: Request, change: Callable[[str], Awaitable[None]]) -> Response:
        async with request.form(max_files=0, max_fields=5) as form:
            folder = folders.check_folder(str(form.get("folder", "")))
        await change(folder)
        back = "/folders?" + urlencode({"folder": folder})
        return JSONResponse({"watched": watches.folders}, headers={"HX-Redirect": back})

    async def index_folder(request: Request) -> Response:
        async with request.form(max_files=0, max_fields=5) as form:
            job = folders.index(jobs, str(form.get("folder", "")))
        return JSONResponse(job, 202, headers={"HX-Redirect": "/folders"})

    async def prune_folders(_: Request) -> Response:
        return JSONResponse(await folders.prune(calls), headers={"HX-Redirect": "/folders"})

    return [
        route("/folders", list_folders),
        route("/folders/vanished", show_vanished),
        route("/folders/index", index_folder, "POST"),
        route("/folders/prune", prune_folders, "POST"),
        route("/folders/watch", start_watch, "POST"),
        route("/folders/unwatch", stop_watch, "POST"),
    ]
