"""kscope on two addresses with given servers, in a world that fails as well.

Two `up`s share a PostgreSQL and a Valkey, as two machines do. Everything is written to a disk of
its own; each server and the programs have a clock of their own; the programs reach the servers
over lines that can be cut.
"""

import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from kscope.up.postgres import Postgres
from kscope.up.valkey import Valkey
from tests.chaos.tree import Tree
from tests.chaos.world import Clock, Direction, Disk, Line, NotPermitted
from tests.up.up_process import Up, free_port, wait_until_ended

LASTING_S = 3.0
AN_HOUR = 3600
_PROGRAMS = "programs"
Part = TypeVar("Part")


def lines_from(base: Path, sockets: Path) -> dict[str, Line]:
    """Lines from sockets below *base* to those of the servers in *sockets*."""
    postgres, valkey = ".s.PGSQL.5432", "valkey.sock"
    return {
        "PostgreSQL": Line(base / "pg" / postgres, sockets / postgres),
        "Valkey": Line(base / "vk" / valkey, sockets / valkey),
    }


def beyond_lines(base: Path) -> dict[str, str]:
    """The environment of programs that reach their servers over the lines from *base*."""
    return {
        "DATABASE_URL": Postgres(base, base / "pg", base).url,
        "REDIS_URL": Valkey(base / "vk", base).url,
    }


class WorldTree(Tree):
    """See the module. What this machine does not permit is in `missing`, with the reason."""

    def __init__(self) -> None:
        self.missing: dict[str, str] = {}
        self.base = Path(tempfile.mkdtemp(prefix="kscope-world-"))
        self.base.chmod(0o755)
        self.disk = self._if_permitted("disk", lambda: Disk(self.base))
        self.clocks: dict[str, Clock] = {}
        for name in ("PostgreSQL", "Valkey", _PROGRAMS):
            clock = self._if_permitted(name, lambda name=name: self._new_clock(name))
            if clock is not None:
                self.clocks[name] = clock
        self.lines: dict[str, Line] = {}
        folder = self.disk.path if self.disk else self.base / "files"
        folder.mkdir(exist_ok=True)
        try:
            super().__init__(embedded=False, disk=folder)
            self.ports = (self.port, free_port())
            self.second = self._start_second()
        except BaseException:
            self._close_world()
            raise

    def _new_clock(self, name: str) -> Clock:
        clock = Clock(self.base / name)
        clock.set(0)
        if name == _PROGRAMS:
            clock.try_python()
        return clock

    def _if_permitted(self, what: str, make: Callable[[], Part]) -> Part | None:
        try:
            return make()
        except NotPermitted as reason:
            self.missing[what] = str(reason)
            return None

    # What runs

    def _given(self, name: str) -> Postgres | Valkey:
        given = super()._given(name)
        clock = self.clocks.get(name)
        if clock is None:
            return given
        if isinstance(given, Postgres):
            return _clocked_postgres(given, clock)
        return _clocked_valkey(given, clock)

    def _environment(self) -> dict[str, str]:
        """Of the programs: the servers beyond their lines, and a clock."""
        # A path on the disk would be too long for a socket.
        self.lines = self.lines or lines_from(self.base, self.sockets)
        clock = self.clocks.get(_PROGRAMS)
        return {
            **super()._environment(),
            **beyond_lines(self.base),
            **(clock.env if clock else {}),
        }

    def _start_second(self) -> Up:
        data = self.folder / "data-2"
        return Up(data, self.ports[1], workers=2, env=self._environment()).wait_until_serving()

    def _data_folders(self) -> tuple[Path, ...]:
        return self.data, self.folder / "data-2"

    def revive(self) -> None:
        """See Tree."""
        super().revive()
        if self.second.process.poll() is not None:
            self.second = self._start_second()

    # What fails

    def strike(self, what: str) -> None:
        """Let it fail for some seconds. Raises NotPermitted."""
        if what == "kill second up":
            self.second.kill()
            return
        if what == "fail disk":
            self._fail_disk()
            return
        with self._failing(what):
            time.sleep(LASTING_S)

    @contextmanager
    def _failing(self, what: str) -> Iterator[None]:
        verb, _, rest = what.partition(" ")
        if verb in ("fill", "freeze"):
            disk = self._permitted_disk()
            begin, end = (disk.fill, disk.free) if verb == "fill" else (disk.freeze, disk.thaw)
            begin()
            try:
                yield
            finally:
                end()
        elif verb in ("requests", "answers"):
            line = self.lines[rest.split()[-1]]
            direction: Direction = "requests" if verb == "requests" else "answers"
            line.cut(direction)
            try:
                yield
            finally:
                line.mend()
        elif verb == "break":
            self.lines[rest.split()[-1]].break_all()
            yield
        else:
            direction_of_time = -1 if rest.endswith("back") else 1
            clock = self._permitted_clock(rest.split()[0])
            clock.set(direction_of_time * AN_HOUR)
            try:
                yield
            finally:
                clock.set(0)

    def _permitted_disk(self) -> Disk:
        if self.disk is None:
            raise NotPermitted(self.missing["disk"])
        return self.disk

    def _permitted_clock(self, name: str) -> Clock:
        if name not in self.clocks:
            raise NotPermitted(self.missing[name])
        return self.clocks[name]

    def _fail_disk(self) -> None:
        """The disk becomes read-only; after some seconds the machine is started again."""
        disk = self._permitted_disk()
        disk.fail()
        time.sleep(LASTING_S)
        self.note_family()
        self.note_family(self.second)
        for up in (self.second, self.up):
            up.kill()
        for child in self.servers.values():
            # Without their parent the processes of PostgreSQL go on for a moment.
            family = psutil.Process(child.pid)
            self.seen |= {one.pid: one for one in family.children(recursive=True)}
            child.process.send_signal(signal.SIGKILL)
            child.process.wait()
        wait_until_ended(self.processes())
        if self._link is not None:
            self._link.close()
            self._link = None
        disk.mount_again()
        self.revive()

    # The end

    def stop(self) -> None:
        """See Tree."""
        self.note_family(self.second)
        self.second.__exit__(None, None, None)
        try:
            super().stop()
        finally:
            self._close_world()

    def _close_world(self) -> None:
        for line in self.lines.values():
            line.close()
        if self.disk is not None:
            self.disk.close()
        shutil.rmtree(self.base, ignore_errors=True)


class _ClockedPostgres(Postgres):
    clock: Clock

    def _env(self) -> dict[str, str]:
        return {**super()._env(), **self.clock.env}


class _ClockedValkey(Valkey):
    clock: Clock

    def _env(self) -> dict[str, str]:
        return {**super()._env(), **self.clock.env}


def _clocked_postgres(given: Postgres, clock: Clock) -> Postgres:
    made = _ClockedPostgres(given.data, given.sockets, given.log, given.user)
    object.__setattr__(made, "clock", clock)
    return made


def _clocked_valkey(given: Valkey, clock: Clock) -> Valkey:
    made = _ClockedValkey(given.sockets, given.log, given.user)
    object.__setattr__(made, "clock", clock)
    return made
