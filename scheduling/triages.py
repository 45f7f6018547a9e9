"""What is stuck in a run as it was brought, and why one object is: asked once, and kept."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from django.utils.translation import gettext

from engine.cluster.cluster import Cluster
from engine.diagnosis.first_look.first_look import first_look, reading
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.report import Triage
from engine.diagnosis.triage.superseded import superseded
from engine.diagnosis.triage.triage import triage_parts
from engine.kernel.errors import SimError
from engine.kernel.garbage import collector_paused
from kscope.runs.contents import items_of, loaded_of
from kscope.runs.drive.replay import engine_created
from kscope.runs.errors import ApplicationError
from kscope.runs.models import KeptEvidence, Run
from kscope.runs.selectors import run_state_at
from kscope.runs.triages import document_of, triage_keep, triage_known
from kscope.runs.web.upload_report import stored_report
from scheduling.process_forks import forks_of


def triage_by_id(run_id: int) -> dict[str, Any]:
    """The whole triage of a run as it was brought; see triage_parts_by_id."""
    parts = triage_parts_by_id(run_id)
    return _whole(next(parts), parts)


def _whole(first: dict[str, Any], parts: Iterator[dict[str, Any]]) -> dict[str, Any]:
    groups: list[dict[str, Any]] = first["groups"]
    for part in parts:
        if "together" in part:
            first = {**first, **part}
        else:
            groups[part.pop("group")].update(part)
    return {**first, "is_whole": True}


def triage_parts_by_id(run_id: int) -> Iterator[dict[str, Any]]:
    """What is stuck in the cluster of a run as it was brought: docs/why-pending.md.

    The first part is the triage with its causes, which a first look may have kept already; where
    `is_whole` is set it has the changes as well, and is the only part. Else {"group": place, "changes", "conclusion"} comes for each group that
    has changes to be tried, and {"together"} at the end. Raises ApplicationError for a run that is
    no cluster as it stands.
    """
    run = Run.objects.select_related("scenario").get(pk=run_id)
    if not run.scenario.as_brought:
        raise ApplicationError(
            gettext(
                "This run began with a scenario that has steps. A triage looks at a cluster as it "
                "stands."
            ),
            status=409,
        )
    known = triage_known(run)
    if known is not None and known.is_whole:
        yield {**_marked(run, document_of(known)), "is_whole": True}
        return
    if known is not None:
        # To make the cluster again takes half a minute where it is large.
        yield {**_marked(run, document_of(known)), "is_whole": False}
    with collector_paused():
        cluster, evidence = _standing(run)
        found: Triage | None = None
        for part in triage_parts(cluster, evidence):
            if isinstance(part, Triage):
                found, causes = part, part.to_dict()
                if known is None:
                    triage_keep(run, causes, is_whole=False)
                    yield {**_marked(run, causes), "is_whole": False}
                continue
            assert found is not None, "the causes come first"
            if not isinstance(part, tuple):
                found = replace(found, together=part)
                yield {"together": None if part is None else part.to_dict()}
                continue
            place, group = part
            groups = (*found.groups[:place], group, *found.groups[place + 1 :])
            found = replace(found, groups=groups)
            shown = group.to_dict()
            yield {"group": place, "changes": shown["changes"], "conclusion": group.conclusion}
        assert found is not None, "the causes come first"
        triage_keep(run, found.to_dict(), is_whole=True)


def _marked(run: Run, document: dict[str, Any]) -> dict[str, Any]:
    """A triage whose groups say what has become of their objects since the run was played."""
    now = run_state_at(run, seq=run.head_seq) if run.head_seq and run.head_at else None
    groups: list[dict[str, Any]] = document["groups"]
    if now is None:
        return document
    marks = [superseded(each, now.state, now.at) for each in groups]
    pairs = zip(groups, marks, strict=True)
    marked = [{**each, "superseded": mark} if mark else each for each, mark in pairs]
    return {**document, "groups": marked}


def first_look_by_id(run_id: int) -> dict[str, Any]:
    """The whole first look at the files of a run; see first_look_parts_by_id."""
    look: dict[str, Any] = {}
    for part in first_look_parts_by_id(run_id):
        look |= part
    return look


def first_look_parts_by_id(run_id: int) -> Iterator[dict[str, Any]]:
    """The first look at the files of a run, and how they were read: docs/why-pending.md.

    The first part is what the files alone say: to make a large cluster of them, and to find what is
    stuck in it, takes half a minute. The other part is the rest. Files with steps do not stand still
    and have no triage.
    """
    run = Run.objects.select_related("scenario").get(pk=run_id)
    with collector_paused():
        evidence, scenario = evidence_of(run), loaded_of(run.scenario)
        read = reading(run.profile, scenario, evidence).to_dict()
        yield {"run": run.pk, **read, "report": stored_report(run.scenario.report)}
        found = first_look(_beginning(run), scenario, evidence)
    if run.scenario.as_brought and triage_known(run) is None:
        triage_keep(run, found.triage.to_dict(), is_whole=False)
    whole = found.to_dict()
    yield {name: part for name, part in whole.items() if name not in read}


def looks_by_id(run_id: int, most_nodes_tried: int) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The first look and the triage of a run as it was brought; None for one with steps.

    Changes that were not tried yet are tried in clusters of at most *most_nodes_tried*.
    """
    if not Run.objects.select_related("scenario").get(pk=run_id).scenario.as_brought:
        return None
    look = first_look_by_id(run_id)
    parts = triage_parts_by_id(run_id)
    first = next(parts)
    nodes = sum(each["number"] for each in look["read"] if each["kind"] == "Node")
    return look, _whole(first, parts) if nodes <= most_nodes_tried else first


def answer_as_it_stands(run: Run, kind: str, key: str) -> Answer | None:
    """Why an object of a run is as it is in the cluster that was brought; None: it is not there.

    *kind* may be written in any case: "workload" for Kueue's Workload.
    """
    with collector_paused():
        cluster, evidence = _standing(run)
        named = evidence.kind_named(kind)
        return explain_as_it_stands(cluster, evidence, named, key, make_forks=forks_of)


def _standing(run: Run) -> tuple[Cluster, Evidence]:
    """The cluster of *run* at its beginning, and what its files say."""
    return _beginning(run), evidence_of(run)


def _beginning(run: Run) -> Cluster:
    try:
        return cast("Cluster", engine_created(run))
    except SimError as problem:
        raise ApplicationError(
            gettext("The cluster cannot be made: {problem}").format(problem=problem), status=409
        ) from problem


def evidence_of(run: Run) -> Evidence:
    """What the files of *run* say."""
    kept = KeptEvidence.objects.filter(pk=run.scenario_id).first()
    parts = ("objects", "objects_aside")
    manifests = [each for part in parts for each in items_of(run.scenario_id, part)]
    return Evidence(manifests, kept.newest_write if kept else "")
