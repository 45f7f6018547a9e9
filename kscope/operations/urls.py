"""Addresses of operations."""

from django.urls import path

from kscope.operations import views

urlpatterns = [
    path("healthz", views.healthz, name="healthz"),
    path("readyz", views.readyz, name="readyz"),
    path("metrics", views.metrics, name="metrics"),
    path("operations/", views.operations, name="operations"),
    path("api/v1/operations/", views.Operations.as_view(), name="api-operations"),
]
