"""The Django app that holds the wiring itself: checks, the static finder, template tags.

`kscope/__init__.py` stays empty on purpose: importing Celery there, as its manual suggests, would
drag Celery and Django into `engine`, which must stay plain Python. Celery is loaded here.
"""

from django.apps import AppConfig
from django.conf import settings

from kscope.words.compiling import LOCALE
from kscope.words.pseudo import write_pseudo


class KscopeConfig(AppConfig):
    """Loads Celery and the system checks once Django is ready."""

    name = "kscope"
    label = "kscope"
    verbose_name = "kscope"

    def ready(self) -> None:
        """Make `@shared_task` find our Celery application, and register the checks."""
        import kscope.celery
        import kscope.checks  # noqa: F401

        if settings.PSEUDO_LANGUAGE:
            write_pseudo(LOCALE, settings.DATA_DIR / "locale")
