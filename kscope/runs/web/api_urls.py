"""Addresses below /api/."""

from django.urls import path

from kscope.runs.web import api

urlpatterns = [
    path("runs/", api.RunList.as_view(), name="api-runs"),
    path("runs/<int:run_id>/", api.RunDetail.as_view(), name="api-run"),
    path("runs/<int:run_id>/transport/", api.RunTransport.as_view(), name="api-transport"),
    path("runs/<int:run_id>/kept/", api.RunKept.as_view(), name="api-kept"),
    path("runs/<int:run_id>/budget/", api.RunBudget.as_view(), name="api-budget"),
    path("runs/<int:run_id>/fork/", api.RunFork.as_view(), name="api-fork"),
    path("runs/<int:run_id>/state/", api.RunState.as_view(), name="api-state"),
    path("runs/<int:run_id>/compare/", api.RunCompare.as_view(), name="api-compare"),
    path("runs/<int:run_id>/events/", api.RunEvents.as_view(), name="api-events"),
    path("runs/<int:run_id>/counters/", api.RunCounters.as_view(), name="api-counters"),
    path("runs/<int:run_id>/histogram/", api.RunHistogram.as_view(), name="api-histogram"),
    path("runs/<int:run_id>/objects/<path:entity>/", api.RunObject.as_view(), name="api-object"),
    path("runs/<int:run_id>/commands/", api.RunCommands.as_view(), name="api-commands"),
    path("scenarios/", api.ScenarioList.as_view(), name="api-scenarios"),
    path("scenarios/<int:scenario_id>/", api.ScenarioDetail.as_view(), name="api-scenario"),
]
