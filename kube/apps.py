"""The application of the Kubernetes API: its commands and its page."""

from django.apps import AppConfig


class KubeConfig(AppConfig):
    name = "kube"
