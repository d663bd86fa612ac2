"""The server: who is let in, what can be asked for, and what is answered.

It listens on 127.0.0.1 alone.  Whoever asks must have been given the address by the
command, for a secret is in it; pages of other places, and names that other places point
here, are refused.  What is sent names files and runs by numbers that are looked up, and
never by paths.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tabtap.errors import UserInputError
from tabtap.serve.jobs import GoneError, Jobs, TooMuchError, Upload

ADDRESS: Final = "127.0.0.1"
USUAL_PORT: Final = 8765

_HERE = Path(__file__).parent
_PAGE = {
    "/": ("page.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
_CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_REPORT_CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'self'; sandbox"
)
_HEADERS = {
    "content-security-policy": _CSP,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_MOST_WORDS = 1_000_000
"""Bytes of a request that is not a file."""

_MOST_STREAMS = 32
_LOOK_SECONDS = 0.2
_BEAT_SECONDS = 10.0


# ---- Who is let in.


@dataclass(frozen=True, slots=True)
class Keys:
    """The secrets of one server: for the address, and for the browser to keep."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    tickets: set[str] = field(default_factory=set)

    def ticket(self) -> str:
        """Return a token that opens the page once.

        A browser is started with the address on its command line, where others on the
        machine may read it.
        """
        ticket = secrets.token_urlsafe(32)
        self.tickets.add(ticket)
        return ticket

    def opens(self, token: str) -> bool:
        """Tell whether an address is one that was given out."""
        if token in self.tickets:
            self.tickets.discard(token)
            return True
        return _is_same(token, self.token)


def _is_same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


class Guard:
    """Lets in who was given the address, from the page itself, and nobody else."""

    def __init__(self, app: ASGIApp, keys: Keys, port: int) -> None:
        self.app = app
        self.keys = keys
        self.cookie = f"tabtap-{port}"
        self.hosts = [f"{name}:{port}" for name in (ADDRESS, "localhost")]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it in a sentence."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets here
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        opened = self._is_opened(request)
        refusal = self._refusal(request, opened=opened)
        answer = self.app if refusal is None else _words(request, 403, refusal)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(message, opened=opened and refusal is None)
            await send(message)

        await answer(scope, receive, send_safely)

    def _is_opened(self, request: Request) -> bool:
        token = request.query_params.get("token", "")
        is_page = request.scope["path"] == "/" and request.method == "GET"
        is_here = request.headers.get("host") in self.hosts
        return bool(token) and is_page and is_here and self.keys.opens(token)

    def _refusal(self, request: Request, *, opened: bool) -> str | None:
        host = request.headers.get("host", "")
        if host not in self.hosts:
            return "This server answers to its own address only."
        if opened:
            return None
        if not _is_from_here(request, host):
            return "This was asked by another page, and is refused."
        kept = request.cookies.get(self.cookie, "")
        if not _is_same(kept, self.keys.session):
            return (
                "Open the page by the address that tabtap serve has printed: it ends "
                "in a token, which is new each time the command is started."
            )
        return None

    def _add_headers(self, message: Message, *, opened: bool) -> None:
        headers = list(message.get("headers", ()))
        known = {name.lower() for name, _ in headers}
        for name, value in _HEADERS.items():
            if name.encode() not in known:
                headers.append((name.encode(), value.encode()))
        if opened:
            kept = (
                f"{self.cookie}={self.keys.session}; HttpOnly; SameSite=Strict; Path=/"
            )
            headers.append((b"set-cookie", kept.encode()))
        message["headers"] = headers


def _is_from_here(request: Request, host: str) -> bool:
    """Tell whether a request comes from the page itself, or was typed by its user."""
    origin = request.headers.get("origin")
    if origin is not None and origin != f"http://{host}":
        return False
    if request.method not in ("GET", "HEAD") and origin is None:
        return False
    return request.headers.get("sec-fetch-site", "none") in ("none", "same-origin")


# ---- What can be asked for.


@dataclass(slots=True)
class _Desk:
    """Answers each request from what is known of files and runs."""

    jobs: Jobs
    n_streams: int = 0

    def routes(self) -> list[Route]:
        return [
            *(Route(path, _page) for path in _PAGE),
            Route("/events", self.events),
            Route("/files", self.drop, methods=["POST"]),
            Route("/files/{file}", self.remove, methods=["DELETE"]),
            Route("/files/{file}/look", self.look, methods=["POST"]),
            Route("/files/{file}/runs", self.ask, methods=["POST"]),
            Route("/runs/{run}", self.remove_run, methods=["DELETE"]),
            Route("/runs/{run}/stop", self.stop, methods=["POST"]),
            Route("/runs/{run}/resume", self.resume, methods=["POST"]),
            Route("/runs/{run}/report", self.report),
            Route("/runs/{run}/files/{what}", self.download),
        ]

    async def drop(self, request: Request) -> Response:
        """Take a file: its name in the address, its content as it is."""
        most = self.jobs.limits.n_bytes
        said = request.headers.get("content-length", "0")
        if said.isdigit() and int(said) > most:
            raise _too_large(most)
        upload, path = self.jobs.new_place(request.query_params.get("name", ""))
        try:
            await self._receive(request, path, most)
        except BaseException:
            self.jobs.give_up(upload)
            raise
        taken: Upload = await run_in_threadpool(self.jobs.take, upload)
        return JSONResponse(self.jobs.shown(taken), status_code=201)

    async def _receive(self, request: Request, path: Path, most: int) -> None:
        n_bytes = 0
        with path.open("xb") as file:
            async for part in request.stream():
                n_bytes += len(part)
                if n_bytes > most:
                    raise _too_large(most)
                file.write(part)
        if not n_bytes:
            raise UserInputError("The file is empty.")

    async def look(self, request: Request) -> Response:
        options = await _options(request)
        file = request.path_params["file"]
        return JSONResponse(await run_in_threadpool(self.jobs.look_over, file, options))

    async def ask(self, request: Request) -> Response:
        options = await _options(request)
        run = await run_in_threadpool(
            self.jobs.ask, request.path_params["file"], options
        )
        return JSONResponse(self.jobs.shown(run), status_code=201)

    async def remove(self, request: Request) -> Response:
        await run_in_threadpool(self.jobs.remove, request.path_params["file"])
        return Response(status_code=204)

    async def remove_run(self, request: Request) -> Response:
        await run_in_threadpool(self.jobs.remove_run, request.path_params["run"])
        return Response(status_code=204)

    async def stop(self, request: Request) -> Response:
        await run_in_threadpool(self.jobs.stop, request.path_params["run"])
        return Response(status_code=204)

    async def resume(self, request: Request) -> Response:
        await run_in_threadpool(self.jobs.resume, request.path_params["run"])
        return Response(status_code=204)

    async def report(self, request: Request) -> Response:
        """Return the report to be looked at, where nothing of it can run."""
        path, _ = self.jobs.written(request.path_params["run"], "report")
        return FileResponse(
            path,
            media_type="text/html; charset=utf-8",
            headers={"content-security-policy": _REPORT_CSP},
        )

    async def download(self, request: Request) -> Response:
        what = request.path_params["what"]
        path, name = self.jobs.written(request.path_params["run"], what)
        kind = "application/octet-stream"
        return FileResponse(path, filename=name, media_type=kind)

    async def events(self, request: Request) -> Response:
        """Tell of every file and run, and then of each change, until nobody listens."""
        if self.n_streams >= _MOST_STREAMS:
            raise TooMuchError("The page is open too often. Close some of its tabs.")
        return StreamingResponse(
            self._told(request.is_disconnected), media_type="text/event-stream"
        )

    async def _told(self, is_gone: Callable[[], Any]) -> AsyncIterator[str]:
        self.n_streams += 1
        seen: dict[str, int] = {}
        quiet = 0.0
        try:
            yield "retry: 1000\n\n"
            while not self.jobs.is_closing.is_set() and not await is_gone():
                lines = self._news(seen)
                for line in lines:
                    yield line
                quiet = 0.0 if lines else quiet + _LOOK_SECONDS
                if quiet > _BEAT_SECONDS:
                    quiet = 0.0
                    yield ": still here\n\n"
                await asyncio.sleep(_LOOK_SECONDS)
        finally:
            self.n_streams -= 1

    def _news(self, seen: dict[str, int]) -> list[str]:
        new, gone = self.jobs.changes(seen)
        lines = [f"event: gone\ndata: {json.dumps({'id': name})}\n\n" for name in gone]
        lines += [f"event: {each['is']}\ndata: {json.dumps(each)}\n\n" for each in new]
        first = not seen
        seen.update((each["id"], each["version"]) for each in new)
        for name in gone:
            del seen[name]
        if first and "" not in seen:
            seen[""] = 0
            lines.append("event: ready\ndata: {}\n\n")
        return lines


async def _page(request: Request) -> Response:
    name, kind = _PAGE[request.scope["path"]]
    return Response((_HERE / name).read_bytes(), media_type=kind)


async def _options(request: Request) -> dict[str, Any]:
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > _MOST_WORDS:
            raise TooMuchError("This is too long to be what the page sends.")
    with suppress(ValueError, RecursionError):
        options = json.loads(content)
        if isinstance(options, dict):
            return options
    raise UserInputError("What was sent is not what the page sends. Load it again.")


def _too_large(most: int) -> TooMuchError:
    return TooMuchError(
        f"The file is larger than {most // 1_000_000} MB. Take a sample of its rows, "
        "or run tabtap augment on the command line."
    )


# ---- Every error is a sentence.


def _words(request: Request, code: int, sentence: str) -> Response:
    if "text/html" in request.headers.get("accept", ""):
        return PlainTextResponse(f"tabtap: {sentence}\n", status_code=code)
    return JSONResponse({"error": sentence}, status_code=code)


async def _explain(request: Request, error: Exception) -> Response:
    if isinstance(error, GoneError):
        return _words(request, 404, str(error))
    if isinstance(error, TooMuchError):
        return _words(request, 413, str(error))
    if isinstance(error, UserInputError):
        return _words(request, 422, str(error))
    if isinstance(error, ClientDisconnect):
        return _words(request, 400, "The file did not arrive whole.")
    if isinstance(error, HTTPException):
        return _words(request, error.status_code, "There is nothing at this address.")
    if isinstance(error, OSError):
        why = error.strerror or type(error).__name__
        return _words(request, 507, f"The system refused to keep it: {why}.")
    return _words(
        request,
        500,
        f"This is a mistake in tabtap, not in your table: {type(error).__name__}.",
    )


def make_app(jobs: Jobs, keys: Keys, port: int) -> ASGIApp:
    """Return the application, guarded.

    Parameters
    ----------
    jobs : Jobs
        Files and runs.
    keys : Keys
        The secrets that let somebody in.
    port : int
        Where it listens.
    """
    kinds = (UserInputError, ClientDisconnect, HTTPException, OSError, Exception)
    app = Starlette(
        routes=_Desk(jobs).routes(),
        exception_handlers=dict.fromkeys(kinds, _explain),
    )
    app.router.redirect_slashes = False
    return Guard(app, keys, port)


# ---- Listening.


class _Server(uvicorn.Server):
    """Tells the streams to end before it waits for them."""

    def __init__(self, config: uvicorn.Config, jobs: Jobs) -> None:
        super().__init__(config)
        self.jobs = jobs

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.jobs.is_closing.set()
        super().handle_exit(sig, frame)


def listen(port: int | None) -> socket.socket:
    """Return a socket of this machine alone, on a port or on any that is free.

    Raises
    ------
    UserInputError
        If another program listens there.
    """
    if port is None:
        try:
            return listen(USUAL_PORT)
        except UserInputError:
            return listen(0)
    place = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    place.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        place.bind((ADDRESS, port))
    except OSError as error:
        place.close()
        raise UserInputError(
            f"--port {port} cannot be used: {error.strerror or error}. Pass another, "
            "or --port 0 for any that is free."
        ) from error
    return place


def serve(jobs: Jobs, place: socket.socket, opened: Callable[[str, str], None]) -> None:
    """Serve the page until a signal ends it.

    Parameters
    ----------
    jobs : Jobs
        Files and runs; they are made from now on.
    place : socket
        Where to listen.
    opened : callable
        Is told the address, and another that opens the page once.
    """
    keys = Keys()
    port = place.getsockname()[1]
    start = f"http://{ADDRESS}:{port}/?token="
    config = uvicorn.Config(
        make_app(jobs, keys, port),
        log_config=None,
        access_log=False,  # it would note the token
        server_header=False,
        lifespan="off",
        ws="none",
        proxy_headers=False,
        timeout_graceful_shutdown=5,
    )
    place.listen(128)  # from here on whoever opens the page is answered
    jobs.start()
    opened(f"{start}{keys.token}", f"{start}{keys.ticket()}")
    _Server(config, jobs).run(sockets=[place])
