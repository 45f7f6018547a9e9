"""Runs that come as files: kept as a scenario and a run that is played again, see docs/run-file.md."""

from collections import Counter
from typing import Any

from django.db import transaction
from django.db.models import Q

from engine.input.budget import Budget
from engine.input.scenario import duration_of
from engine.run_file.contents import RunFile
from kscope.accounts.access import Visibility
from kscope.runs.capacity.quotas import quotas_check
from kscope.runs.contents import Digest, packed, pieces_keep
from kscope.runs.models import Command, ImportedRun, Run, Scenario
from kscope.runs.services import budget_columns, run_ahead, run_wake


def run_import(*, file: RunFile, data: bytes, owner_id: int | None = None) -> Run:
    """A new run that is played as *file* says; *data* is the file itself.

    Raises ApplicationError when its owner has too many.
    """
    chosen, end = file.choices, file.end
    with transaction.atomic():
        scenario = _scenario_of(file.document, owner_id)
        quotas_check(owner_id, runs=1)
        run = Run.objects.create(
            scenario=scenario,
            name=chosen.name,
            profile=chosen.profile,
            feature_gates=dict(chosen.feature_gates),
            external_scheduler=chosen.external_scheduler,
            external_controllers=[*chosen.external_controllers],
            configuration=chosen.configuration,
            seed=chosen.seed,
            tie_break=chosen.tie_break,
            ahead=run_ahead(scenario.instant),
            duration=duration_of(file.document),
            speed=Run.Speed.TEN,
            owner_id=owner_id,
            goal_at=end.at,
            goal_seq=end.events,
            goal_steps=end.steps,
            **budget_columns(Budget.of(file.document)),
        )
        ImportedRun.objects.create(
            run=run,
            digest=end.digest,
            events=end.events,
            written_by=file.written_by,
            withheld=list(file.withheld),
            trail=file.trail,
            answers=list(file.answers),
            file=data if file.has_history else None,
        )
        Command.objects.bulk_create(
            Command(
                run=run,
                body=each.body,
                verb=each.body["verb"],
                object=str(each.body.get("object") or ""),
                position=each.steps,
                at=each.at,
            )
            for each in file.commands
        )
        run_wake(run.pk)
    return run


def _scenario_of(document: dict[str, Any], owner_id: int | None) -> Scenario:
    """The scenario of a document: a demo's or one that its owner has, where it is the same."""
    digest, timeless = Digest(), Digest(without=["instant"])
    content = packed(document, digest, timeless)
    instant = document.get("instant") or ""
    # A digest is without the instant where the files did not name it, so both are looked for.
    whose = Q(owner_id=owner_id) | Q(is_demo=True)
    known = Scenario.objects.filter(
        whose, digest__in=(digest.hex, timeless.hex), instant=instant, is_of_lessons=False
    )
    found = known.order_by("is_demo").first()
    if found is not None:
        return found
    quotas_check(owner_id, uploads=1, upload_bytes=digest.bytes)
    kinds = Counter(str(manifest["kind"]) for manifest in document.get("objects") or ())
    made, is_new = Scenario.objects.get_or_create(
        digest=digest.hex,
        owner_id=owner_id,
        defaults={
            "name": document.get("title") or document.get("name") or "run",
            "question": document.get("question") or "",
            "header": content.header,
            "summary": dict(sorted(kinds.items())),
            "not_modelled": document.get("not_modelled") or [],
            "as_brought": not document.get("steps"),
            "instant": instant,
            "bytes": digest.bytes,
            "visibility": Visibility.PRIVATE,
        },
    )
    if is_new:
        pieces_keep(made, content.pieces)
    return made
