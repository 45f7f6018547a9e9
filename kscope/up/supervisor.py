"""Starts everything in order, watches it, stops it in the reverse order.

    loader ─────┐
    PostgreSQL ─┼─ prepare (migrate, demo scenarios, first admin) ─┬─ web
    Valkey ─────┘                                                  └─ worker, with the beat

The loader loads kscope while the servers start; the others are forked from it, and end with it. They
keep nothing of their own: one that ends by itself is started again. One that ends again and again
ends the whole, and so does a server: half a kscope would only confuse.
"""

import hashlib
import json
import os
import secrets
import shutil
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path

from kscope.up.account import (
    database_place,
    open_way,
    own_directory,
    server_account,
    sockets_folder,
)
from kscope.up.address import Servers
from kscope.up.children import Child, StartError, User, describe_exit, wait_for_end, wait_until
from kscope.up.command_line import say
from kscope.up.holder import forget_run_file, hold, sweep, write_run_file
from kscope.up.options import Options
from kscope.up.postgres import Postgres
from kscope.up.services import Services
from kscope.up.started import Started
from kscope.up.stop_request import StopAsked, listen_for_stop_requests, obey_stop_request
from kscope.up.valkey import Valkey

POLL_S = 0.1
PATIENCE_S = 180.0  # for a start on a machine that is busy with other things
# What decides whether `prepare` has anything to do.
PREPARED_FROM = (
    "kscope/accounts/migrations/*.py",
    "kscope/runs/migrations/*.py",
    "scheduling/migrations/*.py",
    "volumes/migrations/*.py",
    "kscope/management/commands/prepare.py",
    "kscope/runs/management/commands/*.py",
    "scenarios/**/*",
    "scenarios/lessons/*/*",
    "requirements/runtime.txt",
)


def serve(options: Options) -> int:
    """Run kscope until SIGINT or SIGTERM; 0 then, 1 when a server ended, or a service for good.

    Raises StartError when something cannot be started; what was started is stopped first.
    """
    began = time.monotonic()
    listen_for_stop_requests()
    started = Started()
    with hold(options.data):
        swept = sweep(options.data)
        if swept:
            say(f"stopped what an earlier start left running: {', '.join(swept)}")
        _check_port_is_free(options)
        sockets = sockets_folder("kscope-", _place(options)[1])
        sockets.chmod(0o711)  # The servers have a folder in it, whose account may differ.
        try:
            services = _start_all(options, sockets, started)
            seconds = time.monotonic() - began
            say(f"kscope is at {options.address} (started in {seconds:.1f} s; Ctrl-C stops it)")
            return _watch(started, services)
        except StopAsked:
            say("stopping")
            return 0
        finally:
            started.stop()
            forget_run_file(options.data)
            shutil.rmtree(sockets, ignore_errors=True)


def _start_all(options: Options, sockets: Path, started: Started) -> Services:
    """Start everything, in order; returns when the address answers and the worker is ready."""
    _keep_log_short(options.logs)
    servers, starts = _servers(options, sockets / "servers")
    services = Services(options, servers, _environment(options, servers), sockets)
    loader = started.add_loader(services.start_loader)
    for start in starts:
        started.add_server(start())
    _write_run_file(services, started)
    wait_until(services.loader_answers, loader, patience_s=PATIENCE_S, what="load kscope")
    _prepare(options, services)
    web = started.add_service(services.start_web)
    worker = started.add_service(services.start_worker)
    _write_run_file(services, started)
    wait_until(lambda: _answers(options), web, patience_s=PATIENCE_S, what="answer")
    ready = services.worker_is_ready
    wait_until(ready.exists, worker, patience_s=PATIENCE_S, what="become ready")
    return services


def _write_run_file(services: Services, started: Started) -> None:
    options = services.options
    write_run_file(
        options.data, services.servers, options.address, services.sockets, started.children
    )


def _servers(options: Options, sockets: Path) -> tuple[Servers, list[Callable[[], Child]]]:
    """The two servers, given by the environment or our own, and how to start our own."""
    database_url = os.environ.get("DATABASE_URL")
    redis_url = os.environ.get("REDIS_URL")
    starts: list[Callable[[], Child]] = []
    state, user = _place(options)
    own_directory(sockets, user)
    if not database_url:
        open_way(state.parent)
        if not state.exists():
            say(f"making the database in {state}")
        link = options.data / "postgres"
        if state != link and not link.is_symlink():
            if link.exists():
                link.rmdir()  # only ever empty here: else its files would be served
            link.symlink_to(state)  # so that `make clean-data` finds it
        postgres = Postgres(state, sockets, options.logs / "postgres.log", user)
        starts.append(postgres.start)
        database_url = postgres.url
    if not redis_url:
        valkey = Valkey(sockets, options.logs / "valkey.log", user)
        starts.append(valkey.start)
        redis_url = valkey.url
    return Servers(database_url, redis_url), starts


def _place(options: Options) -> tuple[Path, User | None]:
    """Where our own database is, if there is to be one, and the account of our own servers."""
    if not os.environ.get("DATABASE_URL"):
        return database_place(options.data)
    return options.data / "postgres", None if os.environ.get("REDIS_URL") else server_account()


def _prepare(options: Options, services: Services) -> None:
    """Migrate, load the demos, make the first admin, unless nothing changed since the last time."""
    stamp = options.data / "prepared"
    wanted = _fingerprint(options)
    # Given servers may have been emptied by others, so only our own are trusted to be as we left them.
    embedded = "DATABASE_URL" not in os.environ
    if embedded and stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    say("preparing the database and the demo scenarios")
    # It stays until its password was shown, also when this start is stopped before.
    report = options.data / "prepared.json"
    child = services.start_preparing(report)
    wait_for_end(child, failure="The database could not be prepared:")
    password = json.loads(report.read_text())["password"]
    report.unlink()
    if password:
        say(f"admin account: user admin, password {password} (shown only now)")
    stamp.write_text(wanted)
    stamp.chmod(0o644)  # Whose folder it is reads what root wrote.


def _fingerprint(options: Options) -> str:
    """Changes when a migration, a demo or the database itself is another one."""
    digest = hashlib.sha256()
    parts = [_place(options)[0] / "global" / "pg_control"]
    parts += sorted(path for glob in PREPARED_FROM for path in options.room.glob(glob))
    for path in parts[1:]:
        if path.is_file():
            digest.update(f"{path.relative_to(options.room)}\0".encode())
            digest.update(path.read_bytes())
    if parts[0].exists():
        # The first eight bytes of pg_control are the identifier that initdb drew.
        digest.update(parts[0].read_bytes()[:8])
    return digest.hexdigest()


def _environment(options: Options, servers: Servers) -> dict[str, str]:
    key = options.data / "secret-key"
    if not key.exists():
        key.touch(mode=0o600)
        key.write_text(secrets.token_urlsafe(48))
    return {
        **os.environ,
        "DATABASE_URL": servers.database_url,
        "REDIS_URL": servers.redis_url,
        "KSCOPE_DATA": str(options.data),
        "KSCOPE_LOCAL": "1" if options.is_local(os.environ) else "0",
        "DJANGO_SETTINGS_MODULE": "kscope.settings",
        "PYTHONUNBUFFERED": "1",
        # Each of Celery's processes would load all pages of the admin for Django's checks, which
        # tests run.
        "CELERY_SKIP_CHECKS": "1",
    }


def _check_port_is_free(options: Options) -> None:
    """Before anything is started: another server on the port would answer in our place."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    with socket.socket(family) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((options.host, options.port))
        except OSError as error:
            raise StartError(
                f"Port {options.port} on {options.host} cannot be used: {error.strerror}.\n"
                f"Stop what listens there, or choose another: PORT={options.port + 1} make up"
            ) from None


def _answers(options: Options) -> bool:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(options.host, options.host)
    try:
        with socket.create_connection((host, options.port), timeout=5) as client:
            client.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            return b" 200 " in client.recv(64)
    except OSError:
        return False


def _watch(started: Started, services: Services) -> int:
    """Start ended services again, until a stop is asked for or something cannot go on; 1 then."""
    while True:
        obey_stop_request()
        server, service = started.dead_server(), started.dead_service()
        if server is not None:
            _report_end(server, "stopping the rest")
            return 1
        # While a new loader loads, it forks nothing.
        if service is not None and (service is started.loader or services.loader_answers()):
            if not service.may_start_again():
                _report_end(service.child, "it has ended too often, stopping the rest")
                return 1
            _report_end(service.child, "starting it again")
            service.child = service.start()
            _write_run_file(services, started)
        time.sleep(POLL_S)


def _report_end(child: Child, what_follows: str) -> None:
    say(
        f"\n{child.name} {describe_exit(child.exit_code() or 0)}; {what_follows}. "
        f"Its log, {child.log}, ends:\n{child.log_tail()}",
        sys.stderr,
    )


def _keep_log_short(folder: Path, limit: int = 5_000_000) -> None:
    """Logs of earlier starts are kept until they are long, then only one generation back."""
    for log in folder.glob("*.log"):
        if log.stat().st_size > limit:
            log.replace(log.with_suffix(".log.old"))
