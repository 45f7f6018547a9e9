"""One episode: runs play, commands come, things are killed; then all is looked at."""

import contextlib
import json
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import kombu.exceptions
import psycopg
import redis
import yaml
from celery import Celery

from engine.input.generate import synthetic
from kscope import env
from tests.chaos.clients import Api, Commander, Watcher
from tests.chaos.history.clock import Clock
from tests.chaos.history.link import Link
from tests.chaos.history.once import Tally, Writers
from tests.chaos.history.registers import Registers
from tests.chaos.judge import Evidence, judge
from tests.chaos.plan import WORLD_FAULTS, Act, Plan
from tests.chaos.tree import SERVERS, Tree
from tests.chaos.world import NotPermitted
from tests.chaos.world_tree import WorldTree
from tests.waiting import HANG_SECONDS, wait_for

ROOM = Path(__file__).resolve().parents[2]
# What a server that is down answers.
_AWAY = (psycopg.Error, redis.RedisError, kombu.exceptions.OperationalError, OSError, KeyError)
TASK = "scheduling.tasks.adopt"
# A cluster in which nothing happens but what clients do, for longer than an episode lasts.
_SPAN = {
    "apiVersion": "kscope.dev/v1",
    "kind": "Scenario",
    "metadata": {"name": "clients"},
    "spec": {"duration": "1h"},
}
_NODE = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": "only"},
    "status": {"allocatable": {"cpu": "1", "memory": "1Gi", "pods": "10"}},
}
_MANY = 1_000_000


class Episode:
    """Carries a plan out on a tree that runs already."""

    def __init__(self, tree: Tree, plan: Plan) -> None:
        self.tree = tree
        self.plan = plan
        self.apis = [Api(port, tree.token) for port in tree.ports]
        self.api = self.apis[0]
        self.runs: list[int] = []
        self.found: dict[int, Evidence] = {}
        self.done: list[str] = []
        """The faults that found something to strike."""
        self.tally = Tally()
        """What clients of the Kubernetes API were told of their writes."""
        self.skipped: list[str] = []
        """The faults that this machine does not permit, and why."""

    def play(self) -> list[str]:
        """Everything that is wrong afterwards; nothing when all is well."""
        for name, speed, seed in self.plan.runs:
            self._start_run(name, speed, seed)
        commander = Commander(self.api, list(self.plan.commands), self.runs, self.found)
        commander.nodes = {run: self._nodes(run) for run in self.runs}
        link = self._cluster_for_clients()
        watchers = [
            Watcher(self.apis[place % len(self.apis)], run, self.found[run])
            for place, run in enumerate(self.runs, start=1)
        ]
        registers = Registers(link, self.plan.seed)
        writers = Writers(link, self.plan.seed)
        clock = Clock(self._moves(link.run), self.plan.seed)
        threads = [commander, clock, *watchers]
        for thread in threads:
            thread.start()
        try:
            self._strike()
            commander.join()
            wrong = clock.end()
            self.api.insist(f"runs/{link.run}/transport/", {"action": "play"})
            registers.end()
            writers.rest()
            self._look_into_fork(registers)
            self._hurry()
            self._wait_until_finished()
            self._wait_for_watchers(watchers)
            wrong += writers.faults() + registers.faults()
        finally:
            clock.end()
            registers.rest()
            writers.rest()
            self.tally = writers.tally
            commander.join()
            for watcher in watchers:
                watcher.over.set()
                watcher.join()
        for run in self.runs:
            wrong += judge(self.tree, run, self.found[run])
        for run in self.runs:
            gone = self.api.request(f"runs/{run}/", method="DELETE")
            urlopen(gone, timeout=HANG_SECONDS).close()
        return wrong + [each for api in self.apis for each in api.nonsense]

    def _start_run(self, name: str, speed: str, seed: int) -> None:
        body = {"scenario": self._scenario(name), "play": True, "speed": speed, "seed": seed}
        run = self.api.insist("runs/", body)["id"]
        self.runs.append(run)
        self.found[run] = Evidence()

    def _cluster_for_clients(self) -> Link:
        """A run for clients of the Kubernetes API, which plays until the others may hurry."""
        scenario = self._uploaded("clients", [_SPAN, _NODE])
        body = {"scenario": scenario, "play": True, "speed": "1"}
        run = self.api.insist("runs/", body)["id"]
        self.runs.append(run)
        # How many commands their requests become is theirs to know.
        self.found[run] = Evidence(unanswered=_MANY)
        return Link([api.port for api in self.apis], run, self.tree.token)

    def _moves(self, run: int) -> dict[str, Callable[[], object]]:
        """What happens to the clock of the clients' run, if the server is there to do it."""

        def move(**change: str) -> Callable[[], object]:
            def do() -> None:
                with contextlib.suppress(*_AWAY, ValueError):
                    self.api.ask(f"runs/{run}/transport/", change)

            return do

        return {
            "play": move(action="play"),
            "pause": move(action="pause"),
            "hurry": move(action="speed", speed="10"),
            "keep up": move(action="speed", speed="1"),
        }

    def _look_into_fork(self, registers: Registers) -> None:
        """What clients are told of a fork of their run."""
        link = registers.link
        fork = self.api.insist(f"runs/{link.run}/fork/", {})["id"]
        registers.look_into_fork(replace(link, run=fork))
        gone = self.api.request(f"runs/{fork}/", method="DELETE")
        urlopen(gone, timeout=HANG_SECONDS).close()

    def _scenario(self, name: str) -> int:
        title = _titles().get(name, name)
        listed = self.api.insist("scenarios/")["items"]
        known = {each["name"]: each["id"] for each in listed}
        return known[title] if title in known else self._upload(title)

    def _upload(self, name: str) -> int:
        """Forty nodes and four hundred pods: more than a slice holds."""
        return self._uploaded(name, synthetic(nodes=40, pods=400).objects)

    def _uploaded(self, name: str, objects: Iterable[Any]) -> int:
        text = yaml.dump_all(objects, Dumper=yaml.CSafeDumper)
        edge = "chaos-upload"
        content = (
            f'--{edge}\r\nContent-Disposition: form-data; name="name"\r\n\r\n{name}\r\n'
            f'--{edge}\r\nContent-Disposition: form-data; name="files"; filename="{name}.yaml"\r\n\r\n'
            f"{text}\r\n--{edge}--\r\n"
        ).encode()
        kind = f"multipart/form-data; boundary={edge}"
        request = self.api.request("scenarios/", content, kind=kind)
        with urlopen(request, timeout=HANG_SECONDS) as answer:
            return int(json.load(answer)["id"])

    def _nodes(self, run: int) -> list[str]:
        """The ids of the nodes, known as soon as the run has begun."""
        nodes: list[str] = []

        def are_there() -> bool:
            state = self.api.insist(f"runs/{run}/state/")["state"]
            nodes[:] = sorted(entity for entity in state if entity.startswith("node/"))
            return bool(nodes)

        wait_for(are_there, lambda: f"run {run} does not begin; {self.tree.logs()}", every=0.1)
        return nodes

    # What goes wrong

    def _strike(self) -> None:
        began = time.monotonic()
        for act in self.plan.faults:
            time.sleep(max(0.0, began + act.after - time.monotonic()))
            # The servers may be down already: then there is nothing to strike.
            with contextlib.suppress(*_AWAY):
                if self._commit_fault(act):
                    self.done.append(act.what)
        time.sleep(0.3)
        self._heal()

    def _commit_fault(self, act: Act) -> bool:
        run = self.runs[act.run]
        what = act.what
        if what in WORLD_FAULTS:
            return self._let_the_world_fail(what)
        if what.startswith("kill ") and what != "kill backends":
            return self.tree.kill(what.removeprefix("kill "))
        if what == "kill backends":
            return bool(
                self.tree.ask(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
        if what == "crash database":
            return self.tree.crash_database()
        if what == "stop driver past the lease":
            return self._stop_past_the_lease(run)
        if what == "empty the broker":
            redis.Redis.from_url(self.tree.redis_url()).flushall()
            return True
        celery = Celery(broker=env.celery_broker(self.tree.redis_url()))
        delay_s = 3 if what == "late task" else None
        for _ in range(3):
            celery.send_task(TASK, args=[run], queue="kscope", countdown=delay_s)
        celery.close()
        return True

    def _let_the_world_fail(self, what: str) -> bool:
        assert isinstance(self.tree, WorldTree)
        try:
            self.tree.strike(what)
        except NotPermitted as reason:
            self.skipped.append(f"{what}: {reason}")
            return False
        return True

    def _stop_past_the_lease(self, run: int) -> bool:
        """Hold the owner's process until another one has the run, then let it go on."""
        (owner,) = self.tree.ask(
            "SELECT lease_owner, lease_epoch FROM runs_run WHERE id = %s AND lease_until > now()",
            run,
        ) or [("", 0)]
        pid = int(owner[0].rpartition(":")[2] or 0)
        found = [each for each in self.tree.children("driver") if each.pid == pid]
        if not found:
            return False
        found[0].suspend()
        try:
            wait_for(lambda: self._has_another_owner(run, owner[1]), every=0.2)
            time.sleep(0.5)
        finally:
            found[0].resume()
        return True

    def _has_another_owner(self, run: int, epoch: int) -> bool:
        """Whether another process has taken the run since, or had the time to and no reason."""
        (row,) = self.tree.ask(
            "SELECT lease_epoch > %s OR lease_until IS NULL OR lease_until < now() - interval '4 s'"
            " FROM runs_run WHERE id = %s",
            epoch,
            run,
        )
        return bool(row[0])

    def _heal(self) -> None:
        """What does not come back by itself is started again, as people or `restart: always` do."""
        for name in SERVERS:
            child = self.tree.servers.get(name)
            if child is not None and child.exit_code() is not None:
                self._look_while_away(name)
        fatal = {"kill up"}
        if self.tree.embedded:
            fatal |= {f"kill {name}" for name in SERVERS}
        if fatal & set(self.done):
            self.tree.up.wait_for_end()
        self.tree.revive()

    def _look_while_away(self, name: str) -> None:
        """What is told while a server is away: 503 without the database, and no nonsense ever."""
        with contextlib.suppress(OSError):
            status, _ = self.api.ask("runs/")
            if name == "PostgreSQL" and status != 503:
                self.api.nonsense.append(f"without a database the API answers {status}")

    # The end

    def _hurry(self) -> None:
        """Nothing goes wrong any more: what is left to play need not take its time."""
        for run in self.runs:
            self.api.insist(f"runs/{run}/transport/", {"action": "speed", "speed": "max"})

    def _wait_until_finished(self) -> None:
        wait_for(
            lambda: not self._unfinished(),
            lambda: f"not finished: {self._unfinished()}; {self.api.nonsense}; {self.tree.logs()}",
            every=0.1,
        )

    def _unfinished(self) -> list[Any]:
        return self.tree.insist(
            "SELECT id, status, error, head_seq, lease_owner, lease_epoch, lease_until::text"
            " FROM runs_run r WHERE id = ANY(%s)"
            " AND (status = 'playing' OR EXISTS (SELECT FROM runs_command c"
            "  WHERE c.run_id = r.id AND c.status = 'pending'))",
            self.runs,
        )

    def _wait_for_watchers(self, watchers: list[Watcher]) -> None:
        heads = dict(
            self.tree.insist("SELECT id, head_seq FROM runs_run WHERE id = ANY(%s)", self.runs)
        )
        for run, watcher in zip(self.runs, watchers, strict=True):
            wait_for(
                lambda watcher=watcher, run=run: watcher.cursor == heads[run],
                lambda watcher=watcher, run=run: f"shown {watcher.cursor}, recorded {heads[run]}",
            )


@cache
def _titles() -> dict[str, str]:
    """The names under which the demos are kept."""
    titles: dict[str, str] = {}
    for path in (ROOM / "scenarios").glob("*.yaml"):
        for document in yaml.load_all(path.read_bytes(), Loader=yaml.CSafeLoader):
            if document and document.get("kind") == "Scenario":
                titles[path.stem] = document["spec"].get("title") or path.stem
    return titles
