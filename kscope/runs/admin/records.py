"""Runs and what they recorded: rows that only the runner writes."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext, gettext_lazy

from kscope.runs import services
from kscope.runs.admin.links import seconds
from kscope.runs.models import Checkpoint, Command, EventRecord, Run, Scenario


def _what_goes(run: Run, forks: int) -> str:
    """What is deleted with a run, and how many forks of it stay."""
    words = gettext("{run} with {events} events and all else it recorded")
    if forks:
        words = gettext(
            "{run} with {events} events and all else it recorded; {forks} fork(s) of it keep their "
            "own history"
        )
    return words.format(run=run, events=f"{run.head_seq:,}", forks=forks)


class ReadOnlyAdmin(admin.ModelAdmin):
    """Rows that only the runner writes."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Nothing is added by hand."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is changed by hand; it can be looked at."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing is deleted by hand."""
        return False


@admin.register(Scenario)
class ScenarioAdmin(ReadOnlyAdmin):
    """What runs are made of."""

    list_display = ("name", "question", "is_demo", "created")
    list_filter = ("is_demo",)
    search_fields = ("name", "question")
    exclude = ("document",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Scenario]:
        """Without the documents, which can be large and are not shown here."""
        return super().get_queryset(request).defer("document")


@admin.register(Run)
class RunAdmin(ReadOnlyAdmin):
    """Runs, with a link to their board."""

    list_display = (
        "name",
        "board",
        "profile",
        "seed",
        "status",
        "head_seq",
        "virtual_time",
        "parent",
    )
    list_select_related = ("parent",)
    list_filter = ("status", "profile")
    search_fields = ("name", "scenario__name")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Run]:
        """Without the documents of scenarios, which can be large."""
        found = super().get_queryset(request).select_related("scenario")
        return found.defer("scenario__document")

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, run: Run) -> str:
        """The virtual time of the newest event."""
        return seconds(run.head_at)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Runs as a whole can be deleted, after a question."""
        return admin.ModelAdmin.has_delete_permission(self, request, obj)

    def get_deleted_objects(
        self, objs: Iterable[Run], request: HttpRequest
    ) -> tuple[list[str], dict[str, int], set[str], list[str]]:
        """What Django's question lists: counts, as there may be millions of rows."""
        lines, counts = [], {"runs": 0, "events": 0}
        for run in objs:
            forks = Run.objects.filter(parent=run).count()
            lines.append(_what_goes(run, forks))
            counts["runs"] += 1
            counts["events"] += run.head_seq
        return lines, counts, set(), []

    def delete_model(self, request: HttpRequest, obj: Run) -> None:
        """As the REST API does it."""
        services.run_delete(run=obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Run]) -> None:
        """The same for those that were chosen in the list."""
        for run in queryset:
            services.run_delete(run=run)

    @admin.display(description=gettext_lazy("board"))
    def board(self, run: Run) -> str:
        """A link."""
        return format_html('<a href="/runs/{}/">{}</a>', run.pk, gettext("open"))


@admin.register(EventRecord)
class EventRecordAdmin(ReadOnlyAdmin):
    """Every event of every run, searched by object, kind and message."""

    list_display = ("seq", "run", "virtual_time", "component", "kind", "object", "message")
    list_filter = ("component",)
    list_select_related = ("run",)
    search_fields = ("object", "kind", "message")
    list_per_page = 50
    show_full_result_count = False

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, event: EventRecord) -> str:
        """When it happened."""
        return seconds(event.at)


@admin.register(Command)
class CommandAdmin(ReadOnlyAdmin):
    """What users did to live runs, and what became of it."""

    list_display = ("id", "run", "verb", "object", "status", "outcome_seq", "reason", "created")
    list_filter = ("status", "verb")
    list_select_related = ("run",)
    search_fields = ("object", "reason")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Command]:
        """Without what was sent, which can be large; the page of one command reads its own."""
        return super().get_queryset(request).defer("body", "manifest")


@admin.register(Checkpoint)
class CheckpointAdmin(ReadOnlyAdmin):
    """Where recovery and seeking begin."""

    list_display = ("run", "seq", "virtual_time", "steps", "digest")
    list_select_related = ("run",)
    fields = ("run", "seq", "at", "steps", "commands", "digest", "view_digest", "created")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Checkpoint]:
        """Without the blobs, which are not shown here."""
        return super().get_queryset(request).defer("engine", "view")

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, checkpoint: Checkpoint) -> str:
        """The virtual time it was taken at."""
        return seconds(checkpoint.at)
