"""The pages of runs and scenarios. The live parts are drawn by static/js."""

from collections.abc import Callable
from functools import partial
from typing import Any, cast
from urllib.parse import quote

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from engine.framework.waiting_pods import go_duration
from engine.input.header.external import EXTERNAL_CONTROLLERS
from engine.input.options import NAMES
from engine.input.scenario import duration_of, parse_gates
from engine.versions.shown.choices import version_choices
from kscope.accounts.access import Visibility, visitor_of
from kscope.accounts.web.pages import for_editors, refused
from kscope.documents.language import in_language
from kscope.exports.registry import formats_here
from kscope.runs import services
from kscope.runs.access import (
    found_run,
    found_scenario,
    may_see_values,
    readable_runs,
)
from kscope.runs.compare.comparing import runs_to_compare
from kscope.runs.editing.configurations import (
    LONGEST,
    configuration_of,
    configuration_text,
    in_force,
)
from kscope.runs.errors import ApplicationError
from kscope.runs.languages.reader import said
from kscope.runs.models import Run, Scenario
from kscope.runs.selectors import run_dict
from kscope.runs.web.answers import JSON_LINES, filled
from kscope.runs.web.body_limit import problem_report
from kscope.runs.web.spool import SpooledFile, content_of
from kscope.runs.web.uploads import Outcome, UploadAnswer, UploadParts, upload_ask

# What is said once a scenario is shared, or not any more.
_NOW = {
    Visibility.PRIVATE: gettext_lazy("{name} is private now."),
    Visibility.SHARED: gettext_lazy("{name} is shared now."),
    Visibility.PUBLIC: gettext_lazy("{name} is public now."),
}

Page = Callable[..., HttpResponse]


def live_page(view: Page) -> Page:
    """Let *view* be read only, and give its scripts the cookie with which they may send commands."""
    return require_GET(ensure_csrf_cookie(view))


@live_page
def board(request: HttpRequest, run_id: int) -> HttpResponse:
    """The live board of a run."""
    return _run_page(request, run_id, "board")


@live_page
def first_look(request: HttpRequest, run_id: int) -> HttpResponse:
    """What was read of files that were brought, what was not, and what is assumed."""
    return _run_page(request, run_id, "first-look")


@live_page
def triage(request: HttpRequest, run_id: int) -> HttpResponse:
    """What is stuck in a cluster as it was brought, by cause."""
    return _run_page(request, run_id, "triage")


@live_page
def film(request: HttpRequest, run_id: int) -> HttpResponse:
    """One scheduling decision on the board, slowly."""
    return _run_page(request, run_id, "film")


@live_page
def inside_scheduler(request: HttpRequest, run_id: int) -> HttpResponse:
    """One scheduling cycle, step by step: what it decided on, in which code, and what it left in memory."""
    return _run_page(request, run_id, "inside-scheduler")


@live_page
def inside_volumes(request: HttpRequest, run_id: int) -> HttpResponse:
    """Each sync and each tick that did something about a claim, a pod's volumes or a node's."""
    return _run_page(request, run_id, "inside-volumes")


@live_page
def machines(request: HttpRequest, run_id: int) -> HttpResponse:
    """The state machines of queue, cache, volumes, claims and operations, and objects' ways through them."""
    return _run_page(request, run_id, "machines")


@live_page
def pods(request: HttpRequest, run_id: int) -> HttpResponse:
    """The pods of a run, those that wait first."""
    return _run_page(request, run_id, "pods")


@live_page
def pod(request: HttpRequest, run_id: int, namespace: str, name: str) -> HttpResponse:
    """One pod: what holds it, its life, and every attempt with its evidence.

    There may be no such pod at the event shown; the page says so, as it may come or have gone.
    """
    return _run_page(request, run_id, "pod", pod_key=f"{namespace}/{name}", pod_name=name)


@live_page
def volumes(request: HttpRequest, run_id: int) -> HttpResponse:
    """Pods, claims, volumes, classes and nodes as chains, and how one claim gets its volume."""
    return _run_page(request, run_id, "volumes")


@live_page
def nodes(request: HttpRequest, run_id: int) -> HttpResponse:
    """The nodes of a run, those first on which something is stuck."""
    return _run_page(request, run_id, "nodes")


@live_page
def node(request: HttpRequest, run_id: int, name: str) -> HttpResponse:
    """One node: what is stuck, its volumes as wanted and as they are, what is done about them."""
    return _run_page(request, run_id, "node", node_name=name)


@live_page
def manifest(request: HttpRequest, run_id: int, entity: str) -> HttpResponse:
    """The manifest of one object, now or at any event."""
    return _run_page(request, run_id, "manifest", entity=entity)


@require_GET
@for_editors
@ensure_csrf_cookie
def edit(request: HttpRequest, run_id: int) -> HttpResponse:
    """Write a new object, or change the one that `?object=` names: here, or in a fork."""
    return _run_page(request, run_id, "edit")


@live_page
def configuration(request: HttpRequest, run_id: int) -> HttpResponse:
    """What decides in a run: its version, gates, and the plugins of its schedulers."""
    run = found_run(request, run_id)
    header = run.scenario.header
    # Extenders may have keys and addresses in it: what is secret to others is not theirs to read.
    is_shown = may_see_values(visitor_of(request), run)
    text = configuration_text(run.configuration or header.get("configuration"))
    found = in_force(header, profile=run.profile, gates=run.feature_gates, own=run.configuration)
    given = {
        "in_force": found,
        "versions": _version_data(),
        "speeds": Run.Speed.choices,
        "gates_text": run.gates_text,
        "has_schedulers": bool(header.get("schedulers")),
        "configuration_text": text if is_shown else "",
    }
    return _run_page(request, run_id, "configuration", given=given)


@live_page
def timeline(request: HttpRequest, run_id: int) -> HttpResponse:
    """The events of a run up to the one shown, filtered on the server."""
    return _run_page(request, run_id, "timeline")


@live_page
def compare(request: HttpRequest, run_id: int) -> HttpResponse:
    """A run beside another one, or the runs it can be laid beside."""
    run = found_run(request, run_id)
    others = runs_to_compare(run, readable_runs(visitor_of(request)))
    return _run_page(request, run_id, "compare", others=others)


def _run_page(request: HttpRequest, run_id: int, page: str, **more: Any) -> HttpResponse:
    run = found_run(request, run_id, with_worker=True)
    may_change = visitor_of(request).may_change(run)
    context = {
        "run": run,
        "run_data": said({**run_dict(run), "may_change": may_change, "exports": formats_here()}),
        "may_change": may_change,
        "page": page,
        "versions": version_choices(),
        "version_data": _version_data(),
        **more,
    }
    return render(request, f"runs/{page.replace('-', '_')}.html", context)


def _version_data() -> list[dict[str, Any]]:
    return [
        {"name": one.name, "summary": in_language(one.summary), "has": one.has}
        for one in version_choices()
    ]


@require_http_methods(["GET", "POST"])
@for_editors
def scenario_start(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Make a run of a scenario, let it play, and go to its board; or ask how it is to be.

    A cluster that was brought stands still until it is asked to play: what is stuck is shown first.
    For a demo this needs no words, unless something was observed.
    """
    scenario = found_scenario(request, scenario_id)
    if request.method == "GET":
        return _start_page(request, scenario)
    stands = scenario.as_brought and (not scenario.is_demo or bool(scenario.instant))
    try:
        run = services.run_create(
            scenario=scenario,
            profile=request.POST.get("profile", ""),
            feature_gates=_gates_chosen(request),
            external_scheduler="external_scheduler" in request.POST,
            external_controllers=request.POST.getlist("external_controllers"),
            configuration=_configuration_chosen(request),
            play=not stands,
            owner_id=visitor_of(request).account_id,
            **_pace_chosen(request),
        )
    except ApplicationError as refusal:
        if "options" in request.POST:
            return _start_page(request, scenario, refusal.message)
        messages.error(request, refusal.message)
        return redirect("runs")
    return redirect("triage", run_id=run.pk) if stands else redirect(first_page(run))


def first_page(run: Run) -> str:
    """The address of the page on which the object stands that the run's scenario selects."""
    kind, _, key = str(run.scenario.told.get("select", "")).partition("/")
    if kind in ("claim", "volume"):
        return f"{reverse('volumes', args=[run.pk])}?{kind}={quote(key)}"
    if kind == "node":
        return reverse("node", args=[run.pk, key])
    return reverse("board", args=[run.pk])


@require_POST
@for_editors
def run_start_again(request: HttpRequest, run_id: int) -> HttpResponse:
    """Make another run of the same files under another version, and have a first look at it.

    A run that nobody has played or changed is not left behind.
    """
    run = found_run(request, run_id)
    visitor = visitor_of(request)
    try:
        again = services.run_start_again(
            run=run,
            replaces=visitor.may_change(run),
            profile=request.POST.get("profile", ""),
            feature_gates=_gates_chosen(request),
            external_scheduler="external_scheduler" in request.POST,
            external_controllers=run.external_controllers,
            owner_id=visitor.account_id,
        )
    except ApplicationError as refusal:
        messages.error(request, refusal.message)
        return redirect("first-look", run_id=run.pk)
    return redirect("first-look", run_id=again.pk)


def _start_page(request: HttpRequest, scenario: Scenario, refusal: str = "") -> HttpResponse:
    """The form with everything that can be chosen for a run; after a refusal as it was filled in."""
    header, duration = scenario.header, duration_of(scenario.header)
    context = {
        "scenario": scenario,
        "versions": version_choices(),
        "speeds": Run.Speed.choices,
        "given": request.POST,
        "controllers": EXTERNAL_CONTROLLERS,
        "controllers_given": request.POST.getlist("external_controllers"),
        "usual_profile": header.get("profile") or "",
        "usual_duration": go_duration(duration) if duration else "",
        "has_schedulers": bool(header.get("schedulers")),
        "refusal": refusal,
    }
    return render(request, "runs/start.html", context, status=400 if refusal else 200)


def _configuration_chosen(request: HttpRequest) -> dict[str, Any] | None:
    """The scheduler's configuration of the form, as a file or else as text; None for the scenario's."""
    file = request.FILES.get("configuration_file")
    if file is None:
        return configuration_of(request.POST.get("configuration", ""))
    piece = cast("SpooledFile", file).piece
    if piece[2] > LONGEST:
        raise ApplicationError(
            gettext("configuration: the file has more than {number} KiB").format(
                number=LONGEST // 1024
            )
        )
    return configuration_of(content_of(piece))


def _pace_chosen(request: HttpRequest) -> dict[str, Any]:
    """Seed, speed and duration of the form, where it has them."""
    seed, speed = request.POST.get("seed", "").strip(), request.POST.get("speed", "")
    chosen: dict[str, Any] = {}
    if duration := request.POST.get("duration", "").strip():
        chosen["duration"] = services.duration_chosen(duration)
    if seed:
        try:
            chosen["seed"] = int(seed)
        except ValueError as wrong:
            raise ApplicationError(
                gettext("seed is {seed}; it must be a whole number").format(seed=repr(seed))
            ) from wrong
    if speed:
        if speed not in Run.Speed.values:
            known = ", ".join(Run.Speed.values)
            raise ApplicationError(
                gettext("speed is {speed}; it must be one of {known}").format(
                    speed=repr(speed), known=known
                )
            )
        chosen["speed"] = speed
    return chosen


def _gates_chosen(request: HttpRequest) -> dict[str, bool] | None:
    """The feature gates of the form; None for those of the scenario."""
    text = request.POST.get("feature_gates", "")
    try:
        return parse_gates(text) if text.strip() else None
    except ValueError as wrong:
        raise ApplicationError(gettext("Feature gates: {fault}").format(fault=wrong)) from wrong


@filled
@require_http_methods(["GET", "POST"])
@for_editors
def scenario_upload(request: HttpRequest) -> HttpResponseBase:
    """Read uploaded files; go to a first look at what they hold, or report what is wrong and where.

    A page that accepts lines of JSON gets the progress meanwhile.
    """
    if request.method == "GET":
        return render(request, "runs/upload.html", {"versions": version_choices()})
    files = request.FILES.getlist("files")
    if not files:
        messages.error(request, gettext("Choose at least one file."))
        return render(request, "runs/upload.html", {"versions": version_choices()}, status=400)
    name = request.POST.get("name", "").strip()
    choices = {each: request.POST.get(each, "").strip() for each in NAMES}
    question = upload_ask(files, visitor_of(request), name=name, choices=choices)
    if isinstance(question, Outcome):
        return _upload_page(request, "runs/upload.html", question)
    if JSON_LINES in request.headers.get("Accept", ""):
        return UploadParts(question, partial(_upload_page, request, "runs/upload_main.html"))
    return UploadAnswer(question, partial(_upload_page, request, "runs/upload.html"))


def _upload_page(
    request: HttpRequest, template: str, end: Outcome | ApplicationError
) -> HttpResponse:
    """What came of an upload: the way to a run of it, else a page, or the part of it that a page
    puts in its place.
    """
    if isinstance(end, ApplicationError):
        context = {"report": problem_report(end.message), "versions": version_choices()}
        return render(request, template, context, status=end.status)
    if end.run_id is not None:
        return redirect("board", run_id=end.run_id)
    scenario = Scenario.objects.filter(pk=end.scenario_id).defer("report").first()
    context = {"report": end.report, "scenario": scenario, "versions": version_choices()}
    if scenario is None:
        return render(request, template, context, status=422)
    try:
        run = services.run_create(scenario=scenario, owner_id=visitor_of(request).account_id)
    except ApplicationError as refusal:
        return render(request, template, {**context, "refusal": refusal.message})
    return redirect("first-look", run_id=run.pk)


@require_POST
@for_editors
def scenario_change(request: HttpRequest, scenario_id: int) -> HttpResponse:
    """Share an upload, or delete it, as a form beside the list of runs asks."""
    visitor = visitor_of(request)
    scenario = found_scenario(request, scenario_id)
    if not visitor.may_change(scenario):
        return refused(request, gettext("The upload belongs to another account."), 403)
    visibility = request.POST.get("visibility", "")
    try:
        if "delete" in request.POST:
            services.scenario_delete(scenario=scenario)
            messages.success(request, gettext("{name} was deleted.").format(name=scenario.name))
        elif visibility in Visibility.values:
            services.owned_share(thing=scenario, visibility=visibility)
            messages.success(request, _NOW[Visibility(visibility)].format(name=scenario.name))
    except ApplicationError as refusal:
        words = gettext("{name}: {reason}")
        messages.error(request, words.format(name=scenario.name, reason=refusal.message))
    return redirect("runs")
