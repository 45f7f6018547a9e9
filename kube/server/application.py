"""The ASGI application: each request is taken in, routed and answered.

    host and origin ─▶ account ─▶ run ─▶ instant ─▶ discovery, schemas, reviews, objects

Whatever goes wrong is answered with a Status object.
"""

from asyncio import FIRST_COMPLETED, create_task, gather, to_thread, wait
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import replace
from time import time
from typing import Any

from channels.db import database_sync_to_async
from django.utils.http import http_date
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response, StreamingResponse
from starlette.websockets import WebSocket

from kscope.accounts.access import Visitor
from kscope.accounts.sockets import address_of as address_of_client
from kscope.runs import leases
from kscope.runs.capacity.places import Places
from kscope.runs.capacity.requests_at_once import request_key
from kscope.runs.selectors import run_worker
from kscope.runs.served.changes import time_of
from kscope.runs.served.fresh_rows import rows_awaited
from kscope.runs.served.links import DATABASE_ERRORS, SnapshotLinks
from kscope.runs.served.runs import Run
from kscope.runs.served.scripts import scripts_of_run
from kscope.runs.stream.stream_room import CONNECTIONS
from kscope.runs.stream.watching import open_sockets, watcher_of
from kscope.runs.web.bodies import MOST, SHORT_BYTES
from kube import discovery, openapi
from kube.addresses import Address, address_of, moment_of, target_of
from kube.custom_kinds import NO_CUSTOM, CustomResources
from kube.forms import form_of
from kube.server import reviews
from kube.server.answers import JSON, answered, refused, without_values
from kube.server.clock import Uses, standing, warn, warning_of
from kube.server.containers.commands import CommandResponse, command_response, negotiated
from kube.server.containers.logs import asks_to_follow, log_answer
from kube.server.containers.proxy import ProxiedPod, proxy_answer
from kube.server.containers.seen import Seen, pod_seen
from kube.server.containers.sources import Past
from kube.server.handover import Handover, run_deleted
from kube.server.list_options import FAR_BEHIND
from kube.server.listing import list_read, older_version
from kube.server.objects import endpoints
from kube.server.objects.custom_kinds import KnownKinds, custom_at, may_be_custom
from kube.server.objects.hosts import KnownHosts
from kube.server.objects.instants import Instant, Newest, Now, Then, event_at, now
from kube.server.objects.secrets import Secrets
from kube.server.reading import Read, check_timeout, found_object, object_read, shift_of
from kube.server.visitors import Runs, Visitors, check_origin, credential_of, without_token
from kube.server.watches.ending import ended_by_errors
from kube.server.watches.endpoints import EndpointsWatcher
from kube.server.watches.feed import Feed, Feeds
from kube.server.watches.watching import Watch, Watcher
from kube.server.writes.engine_line import EngineLines
from kube.server.writes.once import WriteOnce, asked_once
from kube.server.writes.policies import check_connection
from kube.server.writes.run_objects import RunObjects
from kube.server.writes.scaling import scale_of
from kube.server.writes.writing import CONNECTED_PARTS, REFUSED_PARTS, Writer, pod_told
from kube.status import (
    ApiError,
    bad_request,
    expired,
    method_not_allowed,
    no_such_path,
    too_many_requests,
)

Scope = dict[str, Any]
Application = Callable[[Any, Any, Any], Awaitable[None]]

_READS = ("GET", "HEAD")
# What /healthz looks at, by upstream's names: this process, and the database.
_CHECKS = ("ping", "etcd")
_YEAR = 365 * 24 * 3600  # seconds
LIST_WAIT_SECONDS = 60.0  # for a place where lists are read


def kubernetes_api(application: Application, server: "Server | None" = None) -> Application:
    """The ASGI application, with the Kubernetes API of each run in front of it."""
    server = server or Server()

    async def served(scope: Scope, receive: Any, send: Any) -> None:
        is_request = scope["type"] in ("http", "websocket")
        address = address_of(scope["path"]) if is_request else None
        if address is None:
            await application(scope, receive, send)
        elif scope["type"] == "websocket":
            # The same watch, each event in a frame of its own.
            request = Request({**scope, "type": "http", "method": "GET"})
            await server.serve_socket(WebSocket(scope, receive, send), request, address)
        else:
            with suppress(ClientDisconnect):
                await server.serve(Request(scope, receive), address, send)

    return served


class Server:
    """The API servers of all runs."""

    def __init__(self) -> None:
        # Lists have connections of their own: a slow reader holds one until it is through.
        self._links = SnapshotLinks()
        self._feeds = Feeds()
        self._short_links = SnapshotLinks()
        self._visitors = Visitors()
        self._runs = Runs(self._short_links)
        # As many as there are connections for them.
        self._lists = Places(CONNECTIONS, wait_seconds=LIST_WAIT_SECONDS)
        self._newest = Newest(self._short_links)
        self._uses = Uses(self._short_links)
        self._hosts = KnownHosts(self._short_links)
        self._kinds = KnownKinds(self._short_links)
        self._lines = EngineLines()

    async def close(self) -> None:
        """Close its connections."""
        await self._feeds.close()
        await self._links.close()
        await self._lines.close()
        await self._short_links.close()

    async def serve(self, request: Request, address: Address, send: Any) -> None:
        """Answer a request."""
        handover = Handover(f"{request.method} {address.path}")
        async with AsyncExitStack() as stack:
            try:
                response = await self._response(request, address, stack, handover)
            except ClientDisconnect:
                raise
            except Exception as problem:  # noqa: BLE001  # it is logged, and the client is told
                response = refused(handover.refusal(problem))
            if text := _standing(request, response):
                warn(response.headers, text)
            await response(request.scope, request.receive, send)

    async def serve_socket(self, socket: WebSocket, request: Request, address: Address) -> None:
        """Serve a watch over a WebSocket until the client leaves."""
        handover = Handover(f"WebSocket {address.path}")
        async with AsyncExitStack() as stack:
            try:
                response = await self._response(request, address, stack, handover)
                if isinstance(response, CommandResponse):
                    protocol = negotiated(socket)
                    if response.has_effect:
                        await self._do(response, request, address)
                elif not isinstance(response, StreamingResponse):
                    raise bad_request("only watches are served over a WebSocket")
            except Exception as problem:  # noqa: BLE001  # it is logged, and the client is told
                await socket.send_denial_response(refused(handover.refusal(problem)))
                return
            if isinstance(response, CommandResponse):
                await response.run(socket, protocol)
                return
            # Clients of Kubernetes offer protocols that differ in how frames are encoded.
            offered = without_token(socket.scope.get("subprotocols") or [])
            text = _standing(request, response)
            headers = [(b"warning", warning_of(text).encode())] if text else None
            await socket.accept(offered[0] if offered else None, headers)
            work = {create_task(_send_frames(socket, response)), create_task(_until_left(socket))}
            await wait(work, return_when=FIRST_COMPLETED)
            for task in work:
                task.cancel()
            await gather(*work, return_exceptions=True)

    async def _do(self, response: CommandResponse, request: Request, address: Address) -> None:
        """Write what a command in a container has done to its pod. Raises ApiError."""
        run, target = request.state.run, target_of(address.path)
        assert target is not None
        if address.instant:
            raise _no_writes(run, address)
        visitor = await self._visitors.find(request, to_change=True)
        await self._runs.find(visitor, run.pk, to_change=True)
        async with self._lines.of(run.pk) as line:
            await pod_told(line, run, self._newest, target, response.told_by)

    async def _response(
        self, request: Request, address: Address, stack: AsyncExitStack, handover: Handover
    ) -> Response:
        check_origin(request.headers)
        moment = moment_of(address.instant) if address.instant else None
        if address.instant and moment is None:
            raise bad_request(
                f"{address.instant!r} names no instant; use an event, as in @812, or a time, as in "
                "@5m30s"
            )
        check_timeout(request.query_params.get("timeout", ""))
        if "\0" in address.path:
            raise bad_request("the address holds the character U+0000")  # no table holds one
        target = target_of(address.path)
        changes = request.method not in _READS and not reviews.is_review(target)
        visitor = await self._visitors.find(request, to_change=changes)
        run, hides = await self._runs.find(visitor, address.run_id, to_change=changes)
        request.state.run = run
        if not address.instant and (changes or run.is_used):
            await self._uses.note(run.pk)
        asker, then = _asker(visitor, request), None
        if moment is not None:
            then = self._then(run, *await event_at(run, moment), asker)
        elif _keeps_old_rows(run) and request.method in _READS:
            then = self._then(run, run.head_seq, run.head_at, asker)
        asks_custom = target is None and may_be_custom(address.path)
        asks_rows = target is not None and not reviews.is_review(target)
        if run.rows_seq is not None and then is None and (asks_rows or asks_custom):
            await rows_awaited(self._short_links, run.pk)
        custom = NO_CUSTOM
        if asks_custom:
            custom = await (self._kinds.of(run.pk) if then is None else custom_at(then))
            target = target_of(address.path, custom)
        fixed = await self._fixed(request, address, run, custom)
        if fixed is not None:
            return fixed
        if target is None:
            raise no_such_path()
        if reviews.is_review(target):
            # Every reader of the run may ask.
            request.scope[MOST] = SHORT_BYTES
            return await reviews.answer(request, target, visitor, run, address.instant)
        secrets = Secrets(self._short_links, run.pk, visitor.may_change(run))
        if request.method not in _READS:
            if address.instant:
                raise _no_writes(run, address)
            line = await stack.enter_async_context(self._lines.of(run.pk))
            hosts = self._hosts.of(run.pk, target.resource)
            objects = RunObjects(
                request, run, line, self._newest, handover, secrets, hides=hides, hosts=hosts
            )
            asked = await asked_once(request, visitor)
            if asked is None:
                written = await Writer(objects).answer(target)
            else:
                once = WriteOnce(objects, target, asked)
                written = await once.answer(lambda held: Writer(held).answer(target))
            return without_values(written) if hides else written
        if "get" not in target.resource.verbs:
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        hosts = self._hosts.of(run.pk, target.resource)
        ahead = run.ahead or 0
        read = Read.of(
            request, target, shift_of(run), ahead, hides=hides, hosts=hosts, secrets=secrets
        )
        is_watched = target.is_collection and read.options.is_watch
        if then is not None:
            if is_watched:
                stack.enter_context(_counted(visitor, request))
                return _stream(_watcher(read, Watch.of(read)).of_past(then), handover)
            if target.is_collection and (older := older_version(read, then.seq)) is not None:
                return await self._listed_then(read, run, older, asker)
            return await _read(read, then, run, Past(self._links, run, asker))
        if is_watched:
            await self._uses.note(run.pk)
            stack.enter_context(_counted(visitor, request))
            feed = await stack.enter_async_context(self._feeds.of(run.pk))
            # The objects at the beginning of the watch are read as for a list.
            place = await stack.enter_async_context(AsyncExitStack())
            await place.enter_async_context(self._lists.hold(request_key(request.scope)))
            texts = await self._begun(read, feed, run.head_seq, place.aclose, visitor)
            return _stream(texts, handover)
        if target.subresource == "log" and asks_to_follow(request.query_params):
            stack.enter_context(_counted(visitor, request))
            return await self._followed(read, run, Past(self._links, run, asker))
        if target.is_collection:
            await stack.enter_async_context(self._lists.hold(request_key(request.scope)))
        async with AsyncExitStack() as held:
            instant = await held.enter_async_context(now(self._links, run.pk))
            if target.is_collection and (older := older_version(read, instant.seq)) is not None:
                await held.aclose()
                return await self._listed_then(read, run, older, asker)
            stack.push_async_exit(held.pop_all())
        return await _read(read, instant, run, Past(self._links, run, asker))

    def _then(self, run: Run, seq: int, at: int, asker: str) -> Then:
        return Then(self._links, run.pk, seq, at, run.ahead or 0, asker)

    async def _listed_then(self, read: Read, run: Run, seq: int, asker: str) -> Response:
        """A list of the objects after event *seq*."""
        async with self._links.link() as link:
            at = await time_of(link, run.pk, seq)
        return await list_read(read, self._then(run, seq, at, asker))

    async def _followed(self, read: Read, run: Run, past: Past) -> Response:
        """A log that goes on while the run does, and while the client may read it."""
        credential = credential_of(read.request)
        scripts = await scripts_of_run(run.pk)

        async def look() -> Seen | None:
            with suppress(*DATABASE_ERRORS, ApiError):
                if await watcher_of(credential, run.pk) is not None:
                    async with now(self._links, run.pk) as later:
                        return await pod_seen(read, later, scripts, None)
            return None

        # No transaction is held while the client follows.
        async with now(self._links, run.pk) as instant:
            seen = await pod_seen(read, instant, scripts, past)
        return await log_answer(seen, read.request.query_params, scripts, look)

    async def _begun(
        self,
        read: Read,
        feed: Feed,
        head: int,
        has_listed: Callable[[], Awaitable[None]],
        visitor: Visitor,
    ) -> AsyncGenerator[bytes, None]:
        """The texts of a watch. Raises ApiError where it begins too far behind, or ahead of *head*."""
        await feed.ready.wait()
        if feed.is_gone:
            raise run_deleted()
        watch = Watch.of(read)
        if watch.has_initial:
            read.check_version(max(head, feed.upto))
        if watch.after is not None and feed.upto - watch.after > FAR_BEHIND:
            raise expired(f"too old resource version: {watch.after} ({feed.upto})")
        credential = credential_of(read.request)

        async def may_watch() -> bool:
            await self._uses.note(feed.run_id)
            with suppress(*DATABASE_ERRORS):  # then there is nothing to tell, either
                # What it shows is for who asked: one with another role has to ask again.
                return await watcher_of(credential, feed.run_id) == visitor
            return True

        is_made = read.target.resource.kind in endpoints.KINDS
        watcher = EndpointsWatcher(watch) if is_made else _watcher(read, watch)
        return watcher.texts(feed, self._links, may_watch, has_listed)

    async def _fixed(
        self, request: Request, address: Address, run: Run, custom: CustomResources
    ) -> Response | None:
        """What is no object: health, version, discovery and schemas."""
        path = address.path.rstrip("/") or "/"
        accept = request.headers.get("accept", "")
        match path:
            case "/version":
                return answered(version_info(run.profile))
            case "/healthz" | "/livez" | "/readyz":
                needs_worker = path == "/readyz" and not address.instant
                faults = await _faults(run) if needs_worker else {}
                return _health(path.removeprefix("/"), request, faults)
            # Documents take a moment when they are asked for first, or after a change of kinds.
            case "/openapi/v2" if openapi.wants_protobuf(accept):
                return Response(
                    await to_thread(openapi.v2_protobuf, custom), media_type=openapi.PROTOBUF
                )
            case "/openapi/v2":
                return Response(await to_thread(openapi.v2_json, custom), media_type=JSON)
            case "/openapi/v3":
                root = address.root
                index = await to_thread(openapi.v3_index, root, custom)
                return Response(index, media_type=JSON)
            case _ if path.startswith("/openapi/v3/"):
                place = path.removeprefix("/openapi/v3/")
                return await to_thread(_schemas, place, request, address.root, custom)
        host = request.headers.get("host", "")
        is_past = bool(address.instant)
        found = discovery.document(path, form_of(accept), host, is_past=is_past, custom=custom)
        if found is None:
            return None
        kind = found.get("apiVersion", "")
        if kind.startswith("apidiscovery.k8s.io/"):
            version = kind.partition("/")[2]
            media_type = f"{JSON};g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
            return answered(found, headers={"Content-Type": media_type})
        return answered(found)


def _keeps_old_rows(run: Run) -> bool:
    """Whether nobody will bring the rows of its objects to its newest event: that is read as a past."""
    has_ended = run.status == Run.Status.FAILED or run.cannot_continue_after is not None
    return run.rows_seq is not None and has_ended


def _schemas(path: str, request: Request, root: str, custom: CustomResources) -> Response:
    """The document of a group-version. With its hash in the address, it is kept for good.

    Upstream: kube-openapi, handler3/handler.go, HandleGroupVersion().
    """
    text, known = openapi.v3(path, custom), openapi.v3_hash(path, custom)
    if text is None:
        raise no_such_path()
    asked = request.query_params.get("hash")
    if not asked:
        return Response(text, media_type=JSON)
    if asked != known:
        return RedirectResponse(f"{root}/openapi/v3/{path}?hash={known}", 301)
    headers = {"Cache-Control": "public, immutable", "Expires": http_date(time() + _YEAR)}
    return Response(text, headers=headers, media_type=JSON)


def _health(name: str, request: Request, faults: Mapping[str, str]) -> Response:
    """Whether all is well, and with `verbose` each check. The run was found: its storage answers.

    Upstream: apiserver/pkg/server/healthz/healthz.go, handleRootHealth().
    """
    query = request.query_params
    excluded = query.getlist("exclude")
    checked = [one for one in (*_CHECKS, *faults) if one not in excluded]
    failed = [one for one in checked if one in faults]
    if not failed and "verbose" not in query:
        return PlainTextResponse("ok")
    told = [
        f"[-]{one} failed: {faults[one]}" if one in failed else f"[+]{one} ok" for one in checked
    ]
    told.append(f"{name} check {'failed' if failed else 'passed'}")
    return PlainTextResponse("\n".join(told) + "\n", 503 if failed else 200)


async def _faults(run: Run) -> dict[str, str]:
    """What is missing for writes to be carried out, by the check that finds it."""
    if await database_sync_to_async(run_worker)(run) == leases.WAITING:
        return {"worker": f"run {run.pk} waits for a worker"}
    return {}


async def _read(read: Read, instant: Instant, run: Run, past: Past) -> Response:
    if read.target.is_collection:
        return await list_read(read, instant)
    if read.target.subresource in CONNECTED_PARTS and isinstance(instant, Now):
        scripts = await scripts_of_run(run.pk)
        await check_connection(read.request, instant, read.target, scripts)
    match read.target.subresource:
        case "" | "status" | "resize" | "approval":
            return await object_read(read, instant)
        case "scale":
            return answered(scale_of(await found_object(read, instant), read.target.resource))
        case "log" | "exec" as what:
            scripts = await scripts_of_run(run.pk)
            seen, query = await pod_seen(read, instant, scripts, past), read.request.query_params
            if what == "exec":
                return command_response(seen, query, scripts)
            return await log_answer(seen, query, scripts, None)
        case "proxy":
            pod, scripts = ProxiedPod.of(read.target.name), await scripts_of_run(run.pk)
            of_pod = replace(read, target=replace(read.target, name=pod.name))
            seen = await pod_seen(of_pod, instant, scripts, past)
            return proxy_answer(seen, pod.port, read.target.path, scripts)
        case part if part in REFUSED_PARTS:
            raise method_not_allowed(REFUSED_PARTS[part])
        case _:
            raise no_such_path()


def _watcher(read: Read, watch: Watch) -> Watcher:
    target, name = read.target, read.selection.name
    if target.resource.namespaced and not target.namespace:
        name = ""  # It may be in any namespace.
    return Watcher(watch, namespace=target.namespace, name=name)


@contextmanager
def _counted(visitor: Visitor, request: Request) -> Iterator[None]:
    """Counts a watch among the sockets of its account. Raises ApiError when those are too many."""
    name = open_sockets.enter(visitor, address_of_client(request.scope))
    if name is None:
        raise too_many_requests("you have too many watches open")
    try:
        yield
    finally:
        open_sockets.leave(name)


def _stream(texts: AsyncGenerator[bytes, None], handover: Handover) -> Response:
    # A proxy that collects the whole answer first would take the point of it away.
    told = ended_by_errors(texts, handover)
    return StreamingResponse(told, headers={"X-Accel-Buffering": "no"}, media_type=JSON)


def _standing(request: Request, response: Response) -> str:
    """Why the clock of the run stands that was asked for, unless it was written to just now."""
    run: Run | None = getattr(request.state, "run", None)
    if run is None:
        return ""
    is_write = request.method not in _READS and "dryRun" not in request.query_params
    is_woken = is_write and response.status_code < 300 and run.status == Run.Status.FINISHED
    return "" if is_woken else standing(run)


async def _send_frames(socket: WebSocket, response: StreamingResponse) -> None:
    async for text in response.body_iterator:
        if text:
            await socket.send_text(bytes(text).decode() if not isinstance(text, str) else text)
    await socket.close()


async def _until_left(socket: WebSocket) -> None:
    """Return when the client closes; a watch ignores what it sends."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


def _no_writes(run: Run, address: Address) -> ApiError:
    return method_not_allowed(
        f"run {run.pk} at {address.instant} is in the past, where nothing can be changed; "
        f"fork the run there: /runs/{run.pk}/"
    )


def _asker(visitor: Visitor, request: Request) -> str:
    if visitor.account_id is not None:
        return f"account {visitor.account_id}"
    return f"address {request.client.host if request.client else ''}"


def version_info(profile: str) -> dict[str, str]:
    """What `kubectl version` shows of the server of a run that follows *profile* ("v1.34.9")."""
    major, minor, *patch = profile.removeprefix("v").split(".")
    return {
        "major": major,
        "minor": minor,
        "gitVersion": f"v{major}.{minor}.{patch[0] if patch else 0}-kscope",
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "",
        "platform": "simulated",
    }
