"""Addresses of pages about the Kubernetes API. The API itself stands in front of Django."""

from django.urls import path

from kube import web

urlpatterns = [
    path("runs/<int:run_id>/connect/", web.connect, name="connect"),
    path("api/v1/runs/<int:run_id>/schema/", web.RunSchema.as_view(), name="schema"),
    path("runs/<int:run_id>/kubeconfig/", web.kubeconfig, name="kubeconfig"),
]
