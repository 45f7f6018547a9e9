"""Runs and what they recorded: rows that only the runner writes."""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, gettext_lazy, ngettext

from kscope.runs import services
from kscope.runs.admin.links import (
    command_link,
    event_link,
    following_link,
    is_number,
    object_link,
    seconds,
)
from kscope.runs.models import Checkpoint, Command, EventRecord, Run, Scenario


def _what_goes(run: Run, forks: int) -> str:
    """What is deleted with a run, and how many forks of it stay."""
    words = gettext("{run} with {events} events and all else it recorded")
    if forks:
        words = ngettext(
            "{run} with {events} events and all else it recorded; its fork keeps its own history",
            "{run} with {events} events and all else it recorded; its {forks} forks keep their own "
            "history",
            forks,
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
    exclude = ("header",)


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
        """Without how the files of scenarios were read, which can be large."""
        found = super().get_queryset(request).select_related("scenario")
        return found.defer("scenario__report")

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

    list_display = (
        "seq",
        "run",
        "virtual_time",
        "component",
        "kind",
        "about",
        "caused_by",
        "message",
    )
    list_filter = ("component",)
    list_select_related = ("run",)
    search_fields = ("object", "kind", "message")
    list_per_page = 50
    show_full_result_count = False
    fields = (
        "seq",
        "run",
        "virtual_time",
        "component",
        "kind",
        "about",
        "caused_by",
        "commands",
        "message",
        "data",
        "changes",
    )
    readonly_fields = ("virtual_time", "about", "caused_by", "commands")

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> EventRecord | None:
        """By run and seq: the view's own key would be compared with that of every event."""
        run, _, seq = object_id.partition("-")
        if not (is_number(run) and is_number(seq)):
            return None
        return self.get_queryset(request).filter(run_id=int(run), seq=int(seq)).first()

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, event: EventRecord) -> str:
        """When it happened."""
        return seconds(event.at)

    @admin.display(description=gettext_lazy("object"), ordering="object")
    def about(self, event: EventRecord) -> str:
        """A link to its object."""
        return object_link(event.run_id, event.object)

    @admin.display(description=gettext_lazy("cause"))
    def caused_by(self, event: EventRecord) -> str:
        """A link to the event that caused it."""
        return event_link(event.run_id, event.cause)

    @admin.display(description=gettext_lazy("commands"))
    def commands(self, event: EventRecord) -> str:
        """Links to the commands whose outcome it is."""
        found = Command.objects.filter(run_id=event.run_id, outcome_seq=event.seq)
        links = (command_link(each) for each in found.defer("body"))
        return format_html_join(" ", "{}", ((link,) for link in links))


@admin.register(Command)
class CommandAdmin(ReadOnlyAdmin):
    """What users did to live runs, and what became of it."""

    list_display = ("id", "run", "verb", "about", "status", "event", "reason", "created")
    list_filter = ("status", "verb")
    list_select_related = ("run",)
    search_fields = ("object", "reason")
    fields = (
        "run",
        "verb",
        "about",
        "status",
        "reason",
        "event",
        "following",
        "virtual_time",
        "ordinal",
        "position",
        "body",
        "manifest",
        "created",
    )
    readonly_fields = ("about", "event", "following", "virtual_time")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Command]:
        """Without what was sent, which can be large; the page of one command reads its own."""
        return super().get_queryset(request).defer("body", "manifest")

    @admin.display(description=gettext_lazy("object"), ordering="object")
    def about(self, command: Command) -> str:
        """A link to its object."""
        return object_link(command.run_id, command.object)

    @admin.display(description=gettext_lazy("event"), ordering="outcome_seq")
    def event(self, command: Command) -> str:
        """A link to the event that is its outcome."""
        return event_link(command.run_id, command.outcome_seq)

    @admin.display(description=gettext_lazy("events"))
    def following(self, command: Command) -> str:
        """A link to that event and those behind it."""
        return following_link(command)

    @admin.display(description=gettext_lazy("time"))
    def virtual_time(self, command: Command) -> str:
        """When the engine took it."""
        return seconds(command.at)


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
