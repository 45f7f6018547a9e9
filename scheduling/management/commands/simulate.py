"""`manage.py simulate`: run scenario files without database or servers."""

import sys
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import orjson
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from engine import check_determinism
from engine.api_server.admission.first_objects import refused_objects
from engine.cluster.cluster import Cluster, Slice
from engine.cluster.playing import play
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.report import Diagnosis
from engine.diagnosis.triage.after_play import explain_after_play
from engine.diagnosis.why import KIND_OF
from engine.input.budget import Budget, Stop, read_amount
from engine.input.instants import whole_second_of
from engine.input.load_result import LoadResult, SetupReport
from engine.input.reading import ConfigurationError
from engine.input.scenario import SEEDS, Scenario, parse_duration, parse_gates
from engine.kernel.errors import SimError
from engine.kernel.garbage import collector_paused
from engine.kernel.rng import Stream, Streams
from engine.kernel.sentences import say
from engine.kernel.units import SECOND
from engine.objects.documents import DocumentError, Limits, read_documents
from engine.objects.objects import Manifest, from_manifest
from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.extenders import Extender, ExtenderCalls
from engine.scheduler.configuration.scenario_schedulers import (
    check_setup,
    setup_without_configuration,
    unknown_profile,
)
from engine.scheduler.configuration.setup import SchedulerSetup
from engine.scheduler.cycle.decisions_mode.decide import decide
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import DEFAULT, VERSIONS
from kscope.runs.drive.beginning.extender_client import HttpTransport
from kscope.runs.drive.garbage import GrowthCollector, Memory, resident_bytes
from scheduling.management.intake import add_intake_arguments, load, paths_of, tell
from scheduling.management.standing import bad_input, expand, write_answer
from scheduling.process_forks import forks_of

# The run ended before its time: a budget was used up, or the scheduler's process died.
_STOPPED = 3
_LIMITS = {
    "events": ("COUNT", "stop at so many events"),
    "objects": ("COUNT", "stop when the cluster holds more objects"),
    "time": ("DURATION", "stop at this virtual time; unlike --until it is an error"),
    "memory": ("QUANTITY", "stop when this process takes more memory: 2Gi"),
}


class Command(BaseCommand):
    """Simulate the files of one cluster, or decide on one scenario per file."""

    help = "Run scenario files: the event timeline as NDJSON, or the scheduler's decisions."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """See docs/decisions.md for the mode of that name."""
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a file, a folder, an archive, or - for stdin"
        )
        parser.add_argument("--profile", choices=list(VERSIONS), help="default: the scenario's")
        parser.add_argument(
            "--feature-gates",
            metavar="GATE=true,…",
            default="",
            help="feature gates that differ from the version's defaults; override the scenario's",
        )
        parser.add_argument("--mode", choices=("run", "decisions"), default="run")
        parser.add_argument("--until", metavar="DURATION", help="virtual time to stop at: 10m")
        for part, words in _LIMITS.items():
            parser.add_argument(f"--max-{part}", metavar=words[0], help=words[1])
        parser.add_argument("--seed", type=int, help="default: the scenario's")
        parser.add_argument("--tie-break", choices=("random", "name"), default="random")
        parser.add_argument("-o", "--output", metavar="OUT", help="a file, or a folder for several")
        parser.add_argument(
            "--config", metavar="FILE", help="a KubeSchedulerConfiguration; overrides the files'"
        )
        parser.add_argument(
            "--policy", metavar="FILE", help="a Policy of v1.16, instead of --config"
        )
        parser.add_argument(
            "--why",
            metavar="[KIND/]NAMESPACE/NAME",
            help="at the end, explain why this pod (or claim/shop/data, node/n1, "
            "deployment/shop/web, …) is in its state and what would fix it; the timeline is then "
            "written only with -o",
        )
        parser.add_argument("--json", action="store_true", help="the answer to --why as JSON")
        parser.add_argument(
            "--check-determinism",
            action="store_true",
            help="run twice, once cut at random into slices, checkpoints and forks, and say where "
            "the two histories part; instead of the timeline",
        )
        parser.add_argument(
            "--no-evidence",
            action="store_true",
            help="decisions without filters, scores and candidates; events without data",
        )
        parser.add_argument(
            "--arithmetic",
            action="store_true",
            help="decisions with the terms of each score, of the plugins that show them",
        )
        add_intake_arguments(parser, has_seed=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Bad input is reported with file, document, line and field; the exit status is 2."""
        decides = options["mode"] == "decisions"
        paths = list(expand(options["files"])) if decides else paths_of(options["files"])
        try:
            options["feature_gates"] = parse_gates(options["feature_gates"])
        except ValueError as error:
            raise bad_input(f"--feature-gates: {error}") from error
        for option in ("why", "check_determinism"):
            if decides and options[option]:
                name = option.replace("_", "-")
                raise bad_input(f"--{name} needs a run; --mode decisions has none")
        try:
            with collector_paused():
                (self._decisions if decides else self._run)(paths, options)
        except OSError as error:
            if error.filename is None:
                raise
            raise bad_input(f"{error.filename}: {error.strerror}") from error

    # -- decisions -------------------------------------------------------------------------------

    def _decisions(self, paths: list[Path], options: dict[str, Any]) -> None:
        several = len(paths) > 1 or any(Path(name).is_dir() for name in options["files"])
        target = Path(options["output"]) if options["output"] else None
        if several:
            if target is None:
                raise bad_input("several scenarios need -o FOLDER")
            _one_result_each(paths)
            target.mkdir(parents=True, exist_ok=True)
        growth = GrowthCollector()
        for path in paths:
            growth.look(resident_bytes())
            decided = orjson.dumps(self._decide(path, options))
            if target is None:
                sys.stdout.buffer.write(decided + b"\n")
            else:
                (target / f"{path.stem}.json" if several else target).write_bytes(decided)

    def _decide(self, path: Path, options: dict[str, Any]) -> dict[str, Any]:
        loaded = _load([path], options)
        scenario = _configured(self._scenario(loaded, path.stem), options)
        setup = self._setup(scenario, options, loaded)
        calls = ExtenderCalls()
        calls.transport = HttpTransport.from_environment()
        try:
            return decide(
                [from_manifest(raw) for raw in scenario.objects],
                *setup.profiles,
                ties=_ties(scenario, options),
                evidence=not options["no_evidence"],
                arithmetic=options["arithmetic"],
                extenders=[Extender(one, calls) for one in setup.extenders],
            )
        except (SimError, ValueError) as refusal:
            raise bad_input(f"{path}: {refusal}") from refusal

    # -- run -------------------------------------------------------------------------------------

    def _run(self, paths: list[Path], options: dict[str, Any]) -> None:
        loaded = _load(paths, options)
        scenario = _configured(self._scenario(loaded, _name_of(paths[0])), options)
        if scenario.configuration is not None and not scenario.schedulers:
            self._setup(scenario, options, loaded)
        until = _until(scenario, options)
        try:
            cluster = Cluster.create(
                scenario,
                profile=options["profile"] or scenario.profile or DEFAULT.name,
                seed=_seed(scenario, options),
                tie_break=options["tie_break"],
            )
        except (SimError, ValueError) as refusal:
            raise bad_input(str(refusal)) from refusal
        if options["check_determinism"]:
            self._check_determinism(scenario, cluster, until, options)
            return
        cluster.extender_calls.transport = HttpTransport.from_environment()
        budget = _budget(scenario, options)
        cluster.limit(budget)
        evidence = not options["no_evidence"]
        if options["output"]:
            with Path(options["output"]).open("wb") as out:
                stop = _play(cluster, until, out, budget, evidence=evidence)
        elif options["why"]:
            stop = _play(cluster, until, None, budget, evidence=False)
        else:
            stop = _play(cluster, until, sys.stdout.buffer, budget, evidence=evidence)
            sys.stdout.buffer.flush()
        if options["why"]:
            evidence_of = Evidence(loaded.everything, loaded.newest_write)
            self._explain(cluster, evidence_of if scenario.stands else Evidence(()), options)
        if cluster.failure:
            raise CommandError(f"The run has ended: {cluster.failure}", returncode=_STOPPED)
        if stop is not None:
            advice = f"Raise it with --max-{stop.part} to go on."
            raise CommandError(f"{stop.reason} {advice}", returncode=_STOPPED)

    def _check_determinism(
        self, scenario: Scenario, cluster: Cluster, until: int, options: dict[str, Any]
    ) -> None:
        if cluster.asks_extenders:
            raise bad_input(
                "--check-determinism cannot be used with extenders: they may answer otherwise"
            )
        parting = check_determinism(
            scenario,
            _seed(scenario, options),
            profile=cluster.profile,
            until=until,
            budget=_budget(scenario, options),
        )
        if parting is not None:
            raise CommandError(f"The run has two histories: {parting}")
        self.stdout.write("The run has one history, however it is cut.")

    def _explain(self, cluster: Cluster, evidence: Evidence, options: dict[str, Any]) -> None:
        kind, key = _asked_object(options["why"], evidence)
        found = explain_after_play(cluster, evidence, kind, key, forks_of)
        if isinstance(found, Diagnosis) and found.state == "absent":
            what = "pod" if kind == "Pod" else kind
            raise bad_input(f"--why: at {cluster.now / SECOND:g} s there is no {what} {key}")
        write_answer(self, found, as_json=options["json"])

    def _setup(
        self, scenario: Scenario, options: dict[str, Any], loaded: LoadResult
    ) -> SchedulerSetup:
        """The scheduler's configuration; what is wrong with it is reported with its file."""
        name = options["profile"] or scenario.profile or DEFAULT.name
        version = with_gates(VERSIONS[name], scenario.feature_gates)
        if scenario.configuration is None:
            return setup_without_configuration(version)
        given = options["policy"] or options["config"]
        try:
            setup = read_setup(scenario.configuration, version)
        except ConfigurationError as fault:
            origin = loaded.configuration_origin
            where = given or (f"{origin.file}, document {origin.document}" if origin else "")
            raise bad_input(f"{where}: {fault}") from fault
        if given:
            for warning in setup.warnings:
                self.stderr.write(f"note: {warning}")
        return setup

    def _scenario(self, result: LoadResult, name: str) -> Scenario:
        tell(self, result)
        return Scenario.from_load(result, name=name, at=whole_second_of(timezone.now()))


def _asked_object(name: str, evidence: Evidence) -> tuple[str, str]:
    """The kind and key of --why: "web" and "shop/web" are pods, "claim/shop/data" is a claim.

    Of files that stand, any of their objects may be asked about.
    """
    prefix, _, key = name.partition("/")
    kind = KIND_OF.get(prefix)
    found = "" if kind else evidence.kind_named(prefix)
    # "shop/web" is a pod also where a kind has the namespace's name.
    if found and ("/" in key or evidence.find(found, key)):
        return found, key
    if kind is not None and (kind in ("Node", "PersistentVolume") or "/" in key):
        return kind, key
    return "Pod", name if "/" in name else f"default/{name}"


def _name_of(path: Path) -> str:
    """What a scenario without a name is called: as its first file or folder."""
    return (path.name if path.is_dir() else path.stem.removesuffix(".tar")).strip("-") or "stdin"


def _one_result_each(paths: list[Path]) -> None:
    seen: dict[str, Path] = {}
    for path in paths:
        other = seen.setdefault(path.stem, path)
        if other is not path:
            raise bad_input(f"{other} and {path} would both be written to {path.stem}.json")


def _load(paths: list[Path], options: dict[str, Any]) -> LoadResult:
    return load([str(path) for path in paths], options, partial(_check, options))


def _check(
    options: dict[str, Any],
    scenario: Mapping[str, Any],
    configuration: Manifest | None,
    objects: Sequence[Manifest] = (),
) -> SetupReport:
    """As check_setup, with options that override the files.

    The configuration of --config or --policy is checked when it is read.
    """
    if options["policy"] or options["config"]:
        unknown = unknown_profile(str(scenario.get("profile") or ""))
        faults = [] if unknown is None else [unknown]
        return SetupReport(faults=faults + refused_objects(objects))
    header: dict[str, Any] = {"profile": options["profile"]} if options["profile"] else {}
    if options["feature_gates"]:
        gates = {**(scenario.get("feature_gates") or {}), **options["feature_gates"]}
        header["feature_gates"] = gates
    return check_setup({**scenario, **header}, configuration, objects)


def _configured(scenario: Scenario, options: dict[str, Any]) -> Scenario:
    """*scenario* with the configuration of --config or --policy, where one is given."""
    if options["feature_gates"]:
        gates = {**scenario.feature_gates, **options["feature_gates"]}
        scenario = replace(scenario, feature_gates=gates)
    name = options["policy"] or options["config"]
    if not name:
        return scenario
    try:
        documents = read_documents(name, Path(name).read_bytes(), Limits())
    except OSError as error:
        raise bad_input(f"{name}: {error.strerror}") from error
    except DocumentError as error:
        raise bad_input(f"{name}: line {error.line}: {error.why}") from error
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise bad_input(f"{name}: expected one document, a mapping")
    configuration = documents[0].value
    if options["policy"]:
        configuration = {**configuration, "kind": "Policy"}
    return replace(scenario, configuration=configuration, schedulers=())


def _until(scenario: Scenario, options: dict[str, Any]) -> int:
    if options["until"] is None:
        return scenario.until
    try:
        return parse_duration(options["until"])
    except ValueError as error:
        raise bad_input(f"--until: {error}") from error


def _budget(scenario: Scenario, options: dict[str, Any]) -> Budget:
    """The budget of the scenario, changed as the options say."""
    wanted: dict[str, int | None] = {}
    for part in _LIMITS:
        given = options[f"max_{part}"]
        if given is None:
            continue
        try:
            value = int(given) if part in ("events", "objects") else given
            wanted[part] = read_amount(part, value)
        except ValueError as error:
            raise bad_input(f"--max-{part}: {error}") from error
    return Budget.of(scenario.to_dict()).changed(wanted)


def _seed(scenario: Scenario, options: dict[str, Any]) -> int:
    seed = options["seed"]
    if seed is None:
        return scenario.seed
    if seed not in SEEDS:
        raise bad_input(f"--seed: {seed} is not a 64-bit integer")
    return seed


def _ties(scenario: Scenario, options: dict[str, Any]) -> Stream | None:
    if options["tie_break"] == "name":
        return None
    return Streams(_seed(scenario, options)).stream("ties")


def _play(
    cluster: Cluster, until: int, out: BinaryIO | None, budget: Budget, *, evidence: bool
) -> Stop | None:
    """Write the run's events, one JSON object per line, slice by slice; or drop them.

    Returns what of *budget* was used up before *until*.
    """
    memory, growth = Memory(), GrowthCollector()

    def write(taken: Slice) -> bool:
        for event in taken.events:
            if out is None:
                break
            line = event.to_dict()
            if not evidence:
                line["data"] = None
            out.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
        return True

    def memory_stop() -> Stop | None:
        growth.look(memory.used)
        if memory.is_over(budget.memory) and memory.measure_again() > budget.memory:
            return Stop.at("memory", budget.memory, say("It takes {memory}.", memory=memory.text))
        return None

    return play(cluster, until, write, memory_stop)
