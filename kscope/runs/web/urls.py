"""Addresses of pages."""

from django.urls import path

from kscope.runs.web import views

urlpatterns = [
    path("runs/<int:run_id>/", views.board, name="board"),
    path("runs/<int:run_id>/first-look/", views.first_look, name="first-look"),
    path("runs/<int:run_id>/start-again/", views.run_start_again, name="start-again"),
    path("runs/<int:run_id>/triage/", views.triage, name="triage"),
    path("runs/<int:run_id>/film/", views.film, name="film"),
    path("runs/<int:run_id>/inside/scheduler/", views.inside_scheduler, name="inside-scheduler"),
    path("runs/<int:run_id>/inside/volumes/", views.inside_volumes, name="inside-volumes"),
    path("runs/<int:run_id>/machines/", views.machines, name="machines"),
    path("runs/<int:run_id>/pods/", views.pods, name="pods"),
    path("runs/<int:run_id>/pods/<str:namespace>/<str:name>/", views.pod, name="pod"),
    path("runs/<int:run_id>/volumes/", views.volumes, name="volumes"),
    path("runs/<int:run_id>/nodes/", views.nodes, name="nodes"),
    path("runs/<int:run_id>/nodes/<str:name>/", views.node, name="node"),
    path("runs/<int:run_id>/objects/<path:entity>/", views.manifest, name="manifest"),
    path("runs/<int:run_id>/edit/", views.edit, name="edit"),
    path("runs/<int:run_id>/configuration/", views.configuration, name="configuration"),
    path("runs/<int:run_id>/timeline/", views.timeline, name="timeline"),
    path("runs/<int:run_id>/compare/", views.compare, name="compare"),
    path("scenarios/upload/", views.scenario_upload, name="scenario-upload"),
    path("scenarios/<int:scenario_id>/start/", views.scenario_start, name="scenario-start"),
    path("scenarios/<int:scenario_id>/change/", views.scenario_change, name="scenario-change"),
]
