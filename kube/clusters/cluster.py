"""One simulated cluster: its kubeconfig, and its clock."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from kube.clusters.service import ClusterError, Service, service

# Files, the text of files, or objects.
ScenarioSource = Path | str | Iterable[Mapping[str, Any]]

_SECOND = 1_000_000_000


class Cluster:
    """A run of a scenario that clients of Kubernetes use, while a test moves its time on.

    Time stands still until it is moved. What a client writes is carried out at once; what follows
    from it, as that pods are scheduled, happens as time moves on. A test that writes from one
    thread is therefore decided in the same way each time.
    """

    def __init__(self, scenario: ScenarioSource, **options: Any) -> None:
        self._files = _files(scenario)
        self._options = options
        self._service: Service | None = None
        self._run = 0
        self._kubeconfig = Path()

    def __enter__(self) -> str:
        """Start it; the path of its kubeconfig. Raises ClusterError for a scenario with problems."""
        self.start()
        return self.kubeconfig

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start it, which the next two properties need."""
        self._service = service()
        made = self._ask("create", files=self._files, options=self._options)
        self._run = made["run"]
        self._kubeconfig = self._service.folder / f"run-{self._run}.yaml"
        self._kubeconfig.touch(mode=0o600)
        self._kubeconfig.write_text(made["kubeconfig"])

    def stop(self) -> None:
        """Delete the run and its kubeconfig."""
        if self._run:
            self._kubeconfig.unlink(missing_ok=True)
            run, self._run = self._run, 0
            self._asked("delete", run=run)

    @property
    def kubeconfig(self) -> str:
        """The path of a kubeconfig, for any client of Kubernetes."""
        return str(self._kubeconfig)

    @property
    def page(self) -> str:
        """The address of the run's page, for a browser, as long as the cluster is there."""
        return str(self._look()["page"])

    # -- time ------------------------------------------------------------------------------------

    @property
    def now(self) -> float:
        """Virtual seconds since the cluster began."""
        return self._look()["at"] / _SECOND

    def advance(self, seconds: float) -> None:
        """Move virtual time on by exactly *seconds*, as fast as it can be computed.

        Raises ClusterError when the run fails, or has used up its budget.
        """
        self._move(self._look()["at"] + round(seconds * _SECOND))

    def run_until(
        self, condition: Callable[[], object], *, within_seconds: float, every: float = 1.0
    ) -> None:
        """Move time on until *condition* holds, looking each *every* virtual seconds.

        Raises TimeoutError when it does not hold after *within_seconds* either.
        """
        at = self._look()["at"]
        ends = at + round(within_seconds * _SECOND)
        while not condition():
            if at >= ends:
                raise TimeoutError(f"not so within {within_seconds} virtual seconds")
            at = min(at + max(round(every * _SECOND), 1), ends)
            self._move(at)

    def play(self, speed: str | int = 1) -> None:
        """Let time go on by itself, 1, 10 or 100 times as fast as that of the wall."""
        self._ask("play", run=self._run, speed=str(speed))

    def pause(self) -> None:
        """Let time stand still again."""
        self._ask("pause", run=self._run)

    # -- the service -----------------------------------------------------------------------------

    def _move(self, until: int) -> None:
        self._ask("move", run=self._run, until=until)

    def _look(self) -> dict[str, Any]:
        return self._ask("look", run=self._run)

    def _ask(self, name: str, **arguments: Any) -> dict[str, Any]:
        if name != "create" and not self._run:
            raise ClusterError("the cluster is not running; use it within its `with` block")
        return self._asked(name, **arguments)

    def _asked(self, name: str, **arguments: Any) -> dict[str, Any]:
        assert self._service is not None
        return self._service.ask(name, arguments)


def cluster(
    scenario: ScenarioSource,
    *,
    profile: str = "",
    seed: int | None = None,
    tie_break: str = "random",
    external_scheduler: bool = False,
) -> Cluster:
    """A simulated cluster, to be used as a context manager that gives the path of a kubeconfig.

    *scenario* is a file or a folder of YAML, its text, or objects as dicts. *profile* is the version
    of Kubernetes that schedules, as "v1.34"; *seed* and *tie_break* ("random" or "name") say which
    of equally good nodes is taken. With *external_scheduler*, a client decides where pods go.
    """
    options: dict[str, Any] = {
        "seed": seed,
        "tie_break": tie_break,
        "external_scheduler": external_scheduler,
    }
    return Cluster(scenario, **options, **({"profile": profile} if profile else {}))


def _files(scenario: ScenarioSource) -> list[tuple[str, str]]:
    """Names and texts of the files."""
    if isinstance(scenario, str) and "\n" in scenario:
        return [("scenario.yaml", scenario)]
    if not isinstance(scenario, str | Path):
        return [
            (f"object-{number}.json", json.dumps(one)) for number, one in enumerate(scenario, 1)
        ]
    path = Path(scenario)
    paths = sorted(path.glob("*.y*ml")) if path.is_dir() else [path]
    return [(one.name, one.read_text()) for one in paths]
