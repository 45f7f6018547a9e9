"""The objects of a run by kind, and what is different after another event."""

from collections.abc import Iterator
from typing import Any

import orjson
from django.db.models.functions import Collate
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from engine.kernel.view import State, diff
from engine.objects.kinds import entity_id
from kscope.accounts.access import visitor_of
from kscope.runs import selectors
from kscope.runs.access import found_run, may_see_values
from kscope.runs.app_registry import registry
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.runs.selectors import check_seq
from kscope.runs.services import rows_wait
from kscope.runs.web.answers import JSON, EngineAnswer, EngineView
from kscope.runs.web.contract.answer_schema import answer_class
from kscope.runs.web.contract.document import IF_NONE_MATCH
from kscope.runs.web.contract.paging import Page, page_of, page_schema, paged
from kscope.runs.web.contract.queries import SEQ, query, whole, words
from kscope.runs.web.past import as_shown, objects_replayed
from kscope.runs.web.rest import RestView
from kscope.runs.web.shapes.events import Difference, ListedObject

MOST_OBJECTS, USUAL_OBJECTS = 500, 100
MOST_DIFFERENCES, USUAL_DIFFERENCES = 1_000, 200


class RunObjects(EngineView):
    """The objects of a kind, now or at any event."""

    @extend_schema(
        operation_id="runs_objects_list",
        parameters=[
            query(
                "ObjectsQuery",
                {
                    "kind": words("Pod, PersistentVolumeClaim, …", required=True),
                    "namespace": words("only objects of this one"),
                    "seq": whole(SEQ),
                    **paged(MOST_OBJECTS, USUAL_OBJECTS),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses=page_schema(answer_class(ListedObject), "ObjectPage"),
    )
    def get(self, request: Request, run_id: int) -> Response | EngineAnswer:
        """Their manifests as the simulated API server held them, by id.

        Without managed fields; keys are sorted, as kubectl prints them.
        """
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_OBJECTS, str)
        seq: int | None = self.asked["seq"]
        sees_values = may_see_values(visitor_of(request), run)
        prefix = entity_id(self.asked["kind"], "")
        if self.asked["namespace"]:
            prefix += f"{self.asked['namespace']}/"
        if seq is None:
            return Response(_page(page, _rows(run, prefix, page), sees_values))
        check_seq(run, seq)
        self.lasts(run, seq)
        after = str(page.after or "")
        arguments = {"prefix": prefix, "seq": seq}
        question = Question.about(
            run,
            objects_replayed,
            {**arguments, "after": after, "most": page.wanted},
            lasts=True,
        )

        def show(text: bytes) -> tuple[bytes, str]:
            return orjson.dumps(_page(page, orjson.loads(text), sees_values)), JSON

        return EngineAnswer(question, show)


def _rows(run: Run, prefix: str, page: Page) -> list[dict[str, Any]]:
    """The newest objects; in the order of their bytes, as those of the past are."""
    rows_wait(run.pk)
    model, key = registry.place_of(prefix)
    before = prefix.removesuffix(key)
    rows = model.objects.filter(run_id=run.pk, key__startswith=key)
    rows = rows.annotate(place=Collate("key", "C")).order_by("place")
    if page.after is not None:
        rows = rows.filter(place__gt=str(page.after).removeprefix(before))
    return [
        {"id": before + name, "seq": seq, "manifest": manifest}
        for name, seq, manifest in rows.values_list("key", "seq", "manifest")[: page.wanted]
    ]


def _page(page: Page, objects: list[dict[str, Any]], sees_values: bool) -> dict[str, Any]:
    found, more = page.cut(objects, lambda each: each["id"])
    for each in found:
        each["manifest"] = as_shown(each["manifest"], sees_values=sees_values)
    return {"items": found, "continue": more}


class RunInstant(serializers.Serializer):
    """An instant of a run."""

    seq = serializers.IntegerField()
    at = serializers.IntegerField(help_text="virtual nanoseconds")


class RunDiff(RestView):
    """What is different after another event of the same run."""

    @extend_schema(
        operation_id="runs_diff",
        parameters=[
            query(
                "DiffQuery",
                {
                    "from": whole("seq of an event; 0: before the first", required=True),
                    "to": whole("seq of a later event", required=True),
                    "kind": words("only objects of this one: Pod, PersistentVolumeClaim, …"),
                    **paged(MOST_DIFFERENCES, USUAL_DIFFERENCES),
                },
            ),
            IF_NONE_MATCH,
        ],
        responses=page_schema(
            answer_class(Difference), "DifferencePage", **{"from": RunInstant(), "to": RunInstant()}
        ),
    )
    def get(self, request: Request, run_id: int) -> Response:
        """Objects that were created, deleted or modified between two events, by id.

        Compared is the view state: what pages draw of an object.
        """
        run, page = found_run(request, run_id), page_of(self.asked, USUAL_DIFFERENCES, str)
        start, end = self.asked["from"], self.asked["to"]
        if start > end:
            words = gettext("from is {start}; it must not be later than to, which is {end}")
            raise ApplicationError(words.format(start=start, end=end))
        check_seq(run, end)
        self.lasts(run, end)
        before = selectors.run_state_at(run, seq=start)
        after = selectors.run_state_at(run, seq=end)
        prefix = entity_id(self.asked["kind"], "") if self.asked["kind"] else ""
        ids = _ids(before.state, after.state, prefix, str(page.after or ""))
        found, more = page.cut(
            _differences(before.state, after.state, ids, page.wanted), lambda each: each["id"]
        )
        return Response(
            {
                "from": {"seq": before.seq, "at": before.at},
                "to": {"seq": after.seq, "at": after.at},
                "items": found,
                "continue": more,
            }
        )


def _ids(before: State, after: State, prefix: str, place: str) -> Iterator[str]:
    known = before.keys() | after.keys()
    yield from sorted(each for each in known if each > place and each.startswith(prefix))


def _differences(
    before: State, after: State, ids: Iterator[str], most: int
) -> Iterator[Difference]:
    count = 0
    for entity in ids:
        old, new = before.get(entity), after.get(entity)
        if old != new:
            yield _difference(entity, old, new)
            count += 1
        if count == most:
            return


def _difference(entity: str, old: Any, new: Any) -> Difference:
    change, patch = "modified", None
    if old is None:
        change = "created"
    elif new is None:
        change = "deleted"
    else:
        patch = diff(old, new)
    return {"id": entity, "change": change, "before": old, "after": new, "patch": patch}
