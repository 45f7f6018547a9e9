"""The loader: loads kscope once, and forks the processes that need it from itself.

Loading takes two seconds of a core and tens of megabytes. Web, worker and what these start
have both in common; see `kscope.up.processes` for how they ask.

With a Call as its argument it loads kscope and carries that out itself, for those without a loader.
"""

import gc
import os
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any

from kscope.up.children import die_with_parent
from kscope.up.processes import Call

MOST_FILES = 3
LONGEST_CALL = 65_536
PATIENCE_S = 5.0  # with a client that connects and does not say what it wants
# What libraries take where it is there, and kscope has no use for: colours in terminals, and pages
# that it does not serve. They are as if they were not there while the loader loads, which spares 13 MiB.
NOT_TAKEN = ("docutils", "jinja2", "pygments", "requests", "rich")
# What Django's setup does not load, and several processes or the first request would: what each
# loads by itself, it has in memory of its own.
MODULES = (
    "billiard._ext",
    "billiard.dummy",
    "billiard.pool",
    "celery.app.amqp",
    "celery.app.control",
    "celery.app.events",
    "celery.app.log",
    "celery.app.routes",
    "celery.apps.beat",
    "celery.apps.worker",
    "celery.backends.base",
    "celery.concurrency.solo",
    "celery.contrib.django.task",
    "celery.contrib.migrate",
    "celery.utils.debug",
    "celery.worker.autoscale",
    "celery.worker.components",
    "celery.worker.consumer",
    "celery.worker.consumer.delayed_delivery",
    "celery.worker.loops",
    "celery.worker.pidbox",
    "celery.worker.strategy",
    "celery.worker.worker",
    "channels.routing",
    "kombu.asynchronous.semaphore",
    "kombu.mixins",
    "kombu.transport.redis",
    "kscope.accounts.sockets",
    "kscope.celery",
    "kscope.operations.clock",
    "kscope.operations.headers",
    "kscope.operations.tasks",
    "kscope.runs.aside.child",
    "kscope.runs.capacity.requests_at_once",
    "kscope.runs.capacity.connections",
    "kscope.runs.drive.hosting.process",
    "kscope.runs.drive.runner",
    "kscope.runs.drive.writer",
    "kscope.runs.stream.routing",
    "kscope.runs.web.body_limit",
    "kscope.runs.web.packing",
    "kscope.static_files.files",
    "kscope.urls",
    "kube.server.application",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.main",
    "uvicorn.protocols.websockets.auto",
)


class Loader:
    """Forks processes for whoever connects to *listener*, and tells them how those end.

    Nobody can connect before kscope is loaded.
    """

    def __init__(self, listener: socket.socket) -> None:
        self._listener = listener
        self._links: dict[int, socket.socket] = {}
        """By the pid of the process that was asked for over it."""
        self._outliving: set[int] = set()
        self._selector = selectors.DefaultSelector()
        self._signals, self._signalled = socket.socketpair()
        for each in (self._signals, self._signalled):
            each.setblocking(False)
        listener.listen()
        self._selector.register(listener, selectors.EVENT_READ)
        self._selector.register(self._signals, selectors.EVENT_READ)

    def serve(self) -> Call:
        """Serve for ever; returns only in each process that is forked, with what it is to do."""
        signal.signal(signal.SIGCHLD, _noted)
        signal.set_wakeup_fd(self._signalled.fileno())
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is self._listener:
                    call = self._fork()
                    if call is not None:
                        return call
                elif key.fileobj is self._signals:
                    self._reap()
                elif key.data in self._links:
                    self._obey(key.data)

    def _fork(self) -> Call | None:
        """Fork what the next client asks for; the Call in the new process, None in this one."""
        link, _ = self._listener.accept()
        link.settimeout(PATIENCE_S)
        try:
            text, files, _, _ = socket.recv_fds(link, LONGEST_CALL, MOST_FILES)
            while text and not text.endswith(b"\n"):
                text += link.recv(LONGEST_CALL)
        except OSError:
            text, files = b"", []
        if not text or len(files) != MOST_FILES:
            return self._refuse(link, files)
        ours = os.getpid()
        try:
            call = Call.from_text(text.decode())
            pid = os.fork()
        except (OSError, TypeError, ValueError) as problem:
            # Its client takes the closed link for the end of the process.
            sys.stderr.write(f"nothing was forked: {problem}\n")
            return self._refuse(link, files)
        if not pid:
            self._leave(ours, link, files)
            return call
        for file in files:
            os.close(file)
        self._links[pid] = link
        if call.outlives:
            self._outliving.add(pid)
        self._selector.register(link, selectors.EVENT_READ, pid)
        _say(link, pid)
        return None

    def _refuse(self, link: socket.socket, files: list[int]) -> None:
        link.close()
        for file in files:
            os.close(file)

    def _leave(self, loader: int, link: socket.socket, files: list[int]) -> None:
        """In the new process: keep nothing of the loader's but what it has loaded."""
        die_with_parent()
        if os.getppid() != loader:  # it ended before the kernel knew
            os._exit(1)
        # Ctrl-C in the terminal reaches only `up`.
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._selector.close()
        ours = (self._listener, self._signals, self._signalled, link, *self._links.values())
        for each in ours:
            each.close()
        for place, file in enumerate(files):
            os.dup2(file, place)
            os.close(file)

    def _reap(self) -> None:
        """Tell the end of each process that has ended."""
        with suppress(BlockingIOError):
            while self._signals.recv(4096):
                pass
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                pid, status = found
                link = self._links.pop(pid, None)
                self._outliving.discard(pid)
                if link is not None:
                    _say(link, os.waitstatus_to_exitcode(status))
                    self._close(link)

    def _obey(self, pid: int) -> None:
        """Send a process the signals that its client names, or end it with its client."""
        link = self._links[pid]
        try:
            text = link.recv(64)
        except OSError:
            text = b""
        for line in text.split():
            os.kill(pid, int(line))
        if not text:
            if pid not in self._outliving:
                os.kill(pid, signal.SIGKILL)
            del self._links[pid]
            self._close(link)

    def _close(self, link: socket.socket) -> None:
        self._selector.unregister(link)
        link.close()


def main() -> None:
    """Serve the socket that is our standard input, or carry out the Call in the arguments."""
    if len(sys.argv) > 1:
        call = Call.from_text(sys.argv[1])
        if not call.outlives:
            die_with_parent()
        _set_up()
    else:
        die_with_parent()
        call = _forked()
    _name(call.name)
    call.carry_out()


def _forked() -> Call:
    """What a process that was forked from this one is to do."""
    listener = socket.socket(fileno=os.dup(0))
    # Almost all that is loaded stays, so there is no garbage to look for, now and later: a fork
    # that looked for some would write to each page of memory that it shares.
    gc.disable()
    absent: dict[str, Any] = dict.fromkeys(NOT_TAKEN)
    sys.modules.update(absent)
    _set_up()
    for module in MODULES:
        import_module(module)
    _look_up()
    for name in NOT_TAKEN:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    call = Loader(listener).serve()
    gc.enable()
    return call


def _set_up() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
    import django

    django.setup()


def _look_up() -> None:
    """Look up what each process would for itself: migrations, addresses, middleware, templates' tags."""
    from django.conf import settings
    from django.template import engines
    from django.urls import get_resolver
    from django.utils.module_loading import import_string

    from kscope.database_format import known_migrations

    known_migrations()
    assert get_resolver().url_patterns
    for name in settings.MIDDLEWARE:
        import_string(name)
    engines.all()


def _name(name: str) -> None:
    import setproctitle

    setproctitle.setproctitle(f"kscope {name}")


def _say(link: socket.socket, number: int) -> None:
    with suppress(OSError):  # the other end is closed
        link.sendall(f"{number}\n".encode())


def _noted(_signum: int, _frame: FrameType | None) -> None:
    """Does nothing: the wakeup descriptor has woken the loop already."""


if __name__ == "__main__":
    main()
