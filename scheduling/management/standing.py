"""Reads files as a cluster that stands still, for commands that ask and do not play."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.core.management.base import CommandError

from kscope.sim.errors import SimError
from kscope.sim.input.load_result import LoadResult
from kscope.sim.input.loader import load_paths
from kscope.sim.input.scenario import Scenario
from kscope.sim.objects.objects import Manifest
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.configuration.scenario_schedulers import check_setup
from scheduling.engine.observed.evidence import Evidence
from scheduling.engine.versions.choices import proposed_version

BAD_INPUT = 2
_SUFFIXES = (".yaml", ".yml", ".json")


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster at its beginning, and all manifests of its files; see `LoadResult.newest_write`."""

    cluster: Cluster
    manifests: list[Manifest]
    newest_write: str


def expand(names: list[str]) -> Iterator[Path]:
    """The files of the arguments; folders give their scenario files in order of name.

    Raises CommandError for what is no file and no such folder.
    """
    for name in names:
        path = Path(name)
        if path.is_dir():
            found = sorted(child for child in path.iterdir() if child.suffix in _SUFFIXES)
            # A folder of scenarios may hold their decisions too: NAME.json beside NAME.yaml.
            written = {child.stem for child in found if child.suffix != ".json"}
            found = [c for c in found if c.suffix != ".json" or c.stem not in written]
            if not found:
                raise bad_input(f"{path}: no .yaml or .json file in this folder")
            yield from found
        elif path.is_file():
            yield path
        else:
            raise bad_input(f"{path}: no such file or folder")


def load_files(names: list[str]) -> LoadResult:
    """What the files hold. Raises CommandError, with exit status 2, when they cannot be used."""
    try:
        loaded = load_paths(expand(names), check=check_setup)
    except OSError as error:
        if error.filename is None:
            raise
        raise bad_input(f"{error.filename}: {error.strerror}") from error
    if not loaded.ok:
        raise bad_input("\n".join(str(problem) for problem in loaded.problems))
    return loaded


def standing_cluster(loaded: LoadResult, profile: str | None) -> Standing:
    """The cluster of the files, of *profile*, else of the scenario's, else as its kubelets propose.

    Raises CommandError, with exit status 2, where none can be made.
    """
    scenario = Scenario.from_load(loaded, name="files")
    manifests = loaded.everything
    kubelets = Evidence(loaded.manifests).kubelet_versions
    try:
        name = profile or scenario.profile or proposed_version(kubelets)
        cluster = Cluster.create(scenario, profile=name)
    except (SimError, ValueError) as refusal:
        raise bad_input(str(refusal)) from refusal
    return Standing(cluster, manifests, loaded.newest_write)


def bad_input(message: str) -> CommandError:
    """An error for input that cannot be used."""
    return CommandError(message, returncode=BAD_INPUT)
