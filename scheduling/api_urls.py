"""Addresses below /api/v1/."""

from django.urls import path

from scheduling import api
from scheduling.inside import api as inside_api
from scheduling.timeline.api import RunTimeline
from scheduling.timeline.drawing import RunDrawing

urlpatterns = [
    path("runs/<int:run_id>/attempts/", api.AttemptList.as_view(), name="api-attempts"),
    path(
        "runs/<int:run_id>/shadow-decisions/",
        api.ShadowDecisionList.as_view(),
        name="api-shadow-decisions",
    ),
    path(
        "runs/<int:run_id>/shadow-writes/",
        api.ShadowWriteList.as_view(),
        name="api-shadow-writes",
    ),
    path(
        "runs/<int:run_id>/attempts/<int:attempt_id>/",
        api.AttemptDetail.as_view(),
        name="api-attempt",
    ),
    path(
        "runs/<int:run_id>/nodes/<str:name>/drain/",
        api.NodeDrain.as_view(),
        name="api-node-drain",
    ),
    path(
        "runs/<int:run_id>/pods/<str:namespace>/<str:name>/why/",
        api.PodWhy.as_view(),
        name="api-pod-why",
    ),
    path(
        "runs/<int:run_id>/pods/<str:namespace>/<str:name>/path/",
        api.PodPath.as_view(),
        name="api-pod-path",
    ),
    path(
        "runs/<int:run_id>/pods/<str:namespace>/<str:name>/path/trials/",
        inside_api.PodPathTrials.as_view(),
        name="api-pod-path-trials",
    ),
    path("runs/<int:run_id>/first-look/", api.FirstLook.as_view(), name="api-first-look"),
    path("runs/<int:run_id>/triage/", api.RunTriage.as_view(), name="api-triage"),
    path(
        "runs/<int:run_id>/inside/scheduler/",
        inside_api.InsideScheduler.as_view(),
        name="api-inside-scheduler",
    ),
    path(
        "runs/<int:run_id>/inside/what-if/",
        inside_api.InsideWhatIf.as_view(),
    ),
    path(
        "runs/<int:run_id>/inside/caches/",
        inside_api.InsideCaches.as_view(),
        name="api-inside-caches",
    ),
    path("runs/<int:run_id>/drawing/", RunDrawing.as_view(), name="api-drawing"),
    path("runs/<int:run_id>/timeline/", RunTimeline.as_view(), name="api-timeline"),
    path("runs/<int:run_id>/checks/", api.RunChecks.as_view(), name="api-checks"),
    path("runs/<int:run_id>/why/<path:entity>/", api.ObjectWhy.as_view(), name="api-why"),
]
