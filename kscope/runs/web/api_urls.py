"""Addresses below /api/v1/."""

from django.urls import path

from kscope.runs.web.api import (
    commands,
    comparison,
    controls,
    downloads,
    edits,
    exports,
    history,
    objects,
    rows,
    runs,
    scenarios,
    waiting,
)

urlpatterns = [
    path("runs/", runs.RunList.as_view(), name="api-runs"),
    path("runs/<int:run_id>/", runs.RunDetail.as_view(), name="api-run"),
    path("runs/<int:run_id>/transport/", controls.RunTransport.as_view(), name="api-transport"),
    path("runs/<int:run_id>/kept/", controls.RunRetention.as_view(), name="api-kept"),
    path("runs/<int:run_id>/budget/", controls.RunBudget.as_view(), name="api-budget"),
    path("runs/<int:run_id>/fork/", runs.RunFork.as_view(), name="api-fork"),
    path("runs/<int:run_id>/state/", history.RunState.as_view(), name="api-state"),
    path("runs/<int:run_id>/compare/", comparison.RunCompare.as_view(), name="api-compare"),
    path("runs/<int:run_id>/export/", exports.RunExport.as_view(), name="api-export"),
    path("runs/<int:run_id>/events/", history.RunEvents.as_view(), name="api-events"),
    path(
        "runs/<int:run_id>/events/export/", history.EventExport.as_view(), name="api-event-export"
    ),
    path("runs/<int:run_id>/counters/", history.RunCounters.as_view(), name="api-counters"),
    path("runs/<int:run_id>/rows/<str:kind>/", rows.RunRows.as_view(), name="api-rows"),
    path("runs/<int:run_id>/histogram/", history.RunHistogram.as_view(), name="api-histogram"),
    path("runs/<int:run_id>/objects/", objects.RunObjects.as_view(), name="api-objects"),
    path("runs/<int:run_id>/diff/", objects.RunDiff.as_view(), name="api-diff"),
    path("runs/<int:run_id>/wait/", waiting.RunWait.as_view(), name="api-wait"),
    path(
        "runs/<int:run_id>/objects/<path:entity>/", history.RunObject.as_view(), name="api-object"
    ),
    path("runs/<int:run_id>/commands/", commands.RunCommands.as_view(), name="api-commands"),
    path("runs/<int:run_id>/edits/", edits.RunEdits.as_view(), name="api-edits"),
    path("faults/", edits.FaultList.as_view(), name="api-faults"),
    path("scenarios/", scenarios.ScenarioList.as_view(), name="api-scenarios"),
    path(
        "scenarios/<int:scenario_id>/download/",
        downloads.ScenarioDownload.as_view(),
        name="api-scenario-download",
    ),
    path("scenarios/<int:scenario_id>/", scenarios.ScenarioView.as_view(), name="api-scenario"),
]
