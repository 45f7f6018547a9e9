"""Starts everything in order, watches it, stops it in the reverse order.

    PostgreSQL ─┐
                ├─ prepare (migrate, demo scenarios, first admin) ─┬─ web
    Valkey ─────┘                                                  ├─ worker
                                                                   └─ sweeper with beat

The web, the worker and the sweeper keep nothing of their own: one that ends by itself is started
again. One that ends again and again ends the whole, and so does a server: half a kscope would only
confuse.
"""

import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from kscope.env import env_bool
from kscope.up.account import own_directory, server_account, state_directory
from kscope.up.address import Servers
from kscope.up.children import (
    Child,
    ProcessContext,
    StartError,
    describe_exit,
    run_to_end,
    start_child,
    wait_until,
)
from kscope.up.command_line import say
from kscope.up.holder import forget_run_file, hold, sweep, write_run_file
from kscope.up.postgres import Postgres
from kscope.up.started import Started
from kscope.up.stop_request import StopAsked, listen_for_stop_requests, obey_stop_request
from kscope.up.valkey import Valkey

POLL_S = 0.1
LOOPBACK = ("127.0.0.1", "::1", "localhost")
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
    "requirements/runtime.txt",
)


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `up`."""

    room: Path
    """The checkout: where manage.py is."""
    data: Path
    host: str
    port: int
    workers: int

    def is_local(self, env: Mapping[str, str]) -> bool:
        """Whether only this machine reaches kscope, which then does not ask for a login.

        Its own servers, an address of the loopback, and no sign of a proxy that would bring others.
        """
        is_proxied = env_bool(env, "KSCOPE_SECURE", False) or any(
            env.get(name) for name in ("KSCOPE_HOSTS", "KSCOPE_ORIGINS")
        )
        is_embedded = not (env.get("DATABASE_URL") or env.get("REDIS_URL"))
        return self.host in LOOPBACK and is_embedded and not is_proxied

    @property
    def address(self) -> str:
        shown = "localhost" if self.host in ("127.0.0.1", "0.0.0.0", "::") else self.host
        return f"http://{shown}:{self.port}/"


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
        sockets = Path(tempfile.mkdtemp(prefix="kscope-"))
        try:
            servers = _start_all(options, sockets, started)
            seconds = time.monotonic() - began
            say(f"kscope is at {options.address} (started in {seconds:.1f} s; Ctrl-C stops it)")
            return _watch(started, lambda: _write_run_file(options, servers, sockets, started))
        except StopAsked:
            say("stopping")
            return 0
        finally:
            started.stop()
            forget_run_file(options.data)
            shutil.rmtree(sockets, ignore_errors=True)


def _start_all(options: Options, sockets: Path, started: Started) -> Servers:
    """Start everything, in order; returns when the address answers and the worker is ready."""
    _keep_log_short(options.data / "log")
    servers = _start_servers(options, sockets, started)
    env = _environment(options, servers)
    _write_run_file(options, servers, sockets, started)
    _prepare(options, env)
    web = started.add_service(lambda: _start_web(options, env))
    worker = started.add_service(lambda: _start_worker(options, env))
    _write_run_file(options, servers, sockets, started)
    wait_until(lambda: _answers(options), web, patience_s=PATIENCE_S, what="answer")
    ready = options.data / "worker-ready"
    wait_until(ready.exists, worker, patience_s=PATIENCE_S, what="become ready")
    # A start does not wait for the sweeper: it finds what was lost, and a start loses nothing.
    started.add_service(lambda: _start_sweeper(options, env))
    _write_run_file(options, servers, sockets, started)
    return servers


def _write_run_file(options: Options, servers: Servers, sockets: Path, started: Started) -> None:
    write_run_file(options.data, servers, options.address, sockets, started.children)


def _start_servers(options: Options, sockets: Path, started: Started) -> Servers:
    """The two given by the environment, or our own."""
    log = options.data / "log"
    database_url = os.environ.get("DATABASE_URL")
    redis_url = os.environ.get("REDIS_URL")
    user = None if database_url and redis_url else server_account()
    own_directory(sockets, user)
    if not database_url:
        state = state_directory(options.data, user)
        state.parent.mkdir(parents=True, exist_ok=True)
        if not state.exists():
            say(f"making the database in {state}")
        link = options.data / "postgres"
        if state != link and not link.is_symlink():
            link.symlink_to(state)  # so that `make clean-data` finds it
        postgres = Postgres(state, sockets, log / "postgres.log", user)
        started.add_server(postgres.start())
        database_url = postgres.url
    if not redis_url:
        valkey = Valkey(sockets, log / "valkey.log", user)
        started.add_server(valkey.start())
        redis_url = valkey.url
    return Servers(database_url, redis_url)


def _start_web(options: Options, env: dict[str, str]) -> Child:
    return start_child(
        "web",
        [
            *(sys.executable, "-m", "uvicorn", "kscope.asgi:application"),
            *("--host", options.host, "--port", str(options.port), "--lifespan", "off"),
            # Deflating every frame for every client costs more than loopback ever saves.
            *("--ws-per-message-deflate", "false", "--log-level", "info", "--no-access-log"),
            # Pages send next to nothing over a socket. Sockets are bounded by kscope itself.
            *("--ws-max-size", "16384", "--limit-concurrency", "4096"),
            # Sockets of open pages do not close by themselves.
            *("--timeout-graceful-shutdown", "1"),
        ],
        log=options.data / "log" / "web.log",
        context=ProcessContext(env, options.room),
        stop_signals=((signal.SIGTERM, 10.0),),
    )


def _start_worker(options: Options, env: dict[str, str]) -> Child:
    (options.data / "worker-ready").unlink(missing_ok=True)
    return _start_celery(
        "worker",
        ["--pool", "prefork", "--concurrency", str(options.workers)],
        options,
        env,
        # Warm first: drivers give their runs back within a slice. Then cold; the lease covers the rest.
        stop_signals=((signal.SIGTERM, 10.0), (signal.SIGQUIT, 3.0)),
    )


def _start_sweeper(options: Options, env: dict[str, str]) -> Child:
    """A worker for the short tasks of the beat, which are never to wait for runs."""
    return _start_celery(
        "sweeper",
        ["--pool", "solo", "--queues", "sweeps", "--hostname", "sweeper@%h", "--beat"],
        options,
        env,
        stop_signals=((signal.SIGTERM, 2.0), (signal.SIGQUIT, 2.0)),
    )


def _start_celery(
    name: str,
    words: list[str],
    options: Options,
    env: dict[str, str],
    stop_signals: Sequence[tuple[int, float]],
) -> Child:
    return start_child(
        name,
        [
            *(sys.executable, "-m", "celery", "-A", "kscope.celery", "worker", *words),
            *("--loglevel", "INFO", "--without-gossip", "--without-mingle"),
            "--without-heartbeat",
        ],
        log=options.data / "log" / f"{name}.log",
        context=ProcessContext(env, options.room),
        stop_signals=stop_signals,
    )


def _prepare(options: Options, env: dict[str, str]) -> None:
    """Migrate, load the demos, make the first admin, unless nothing changed since the last time."""
    stamp = options.data / "prepared"
    wanted = _fingerprint(options)
    # Given servers may have been emptied by others, so only our own are trusted to be as we left them.
    embedded = "DATABASE_URL" not in os.environ
    if embedded and stamp.exists() and stamp.read_text() == wanted:
        return
    stamp.unlink(missing_ok=True)
    say("preparing the database and the demo scenarios")
    report = options.data / "prepared.json"
    report.unlink(missing_ok=True)
    run_to_end(
        [sys.executable, options.room / "manage.py", "prepare", "--report", report],
        context=ProcessContext(env, options.room),
        log=options.data / "log" / "prepare.log",
        failure="The database could not be prepared:",
    )
    password = json.loads(report.read_text())["password"]
    report.unlink()
    if password:
        say(f"admin account: user admin, password {password} (shown only now)")
    stamp.write_text(wanted)


def _fingerprint(options: Options) -> str:
    """Changes when a migration, a demo or the database itself is another one."""
    digest = hashlib.sha256()
    state = state_directory(options.data, server_account())
    parts = [state / "global" / "pg_control"]
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


def _watch(started: Started, write_run_file: Callable[[], None]) -> int:
    """Start ended services again, until a stop is asked for or something cannot go on; 1 then."""
    while True:
        obey_stop_request()
        server, service = started.dead_server(), started.dead_service()
        if server is not None:
            _report_end(server, "stopping the rest")
            return 1
        if service is not None:
            if not service.may_start_again():
                _report_end(service.child, "it has ended too often, stopping the rest")
                return 1
            _report_end(service.child, "starting it again")
            service.child = service.start()
            write_run_file()
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
