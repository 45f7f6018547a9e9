"""System checks: mistakes that would otherwise show as a blank page or an odd error."""

from typing import Any

from django.conf import settings
from django.core import checks

from kscope.static_files.finder import node_modules, static_names


@checks.register(checks.Tags.files)
def vendor_files_exist(**_kwargs: Any) -> list[checks.CheckMessage]:
    """kscope.E001: an entry of the import map points at a file that is not there."""
    missing = [file for file in static_names().values() if not (node_modules() / file).is_file()]
    if not missing:
        return []
    return [
        checks.Error(
            f"node_modules lacks {', '.join(missing)}",
            hint="Run `make setup`, or `npm ci` beside package.json.",
            id="kscope.E001",
        )
    ]


@checks.register(checks.Tags.security, deploy=True)
def secret_key_lasts(**_kwargs: Any) -> list[checks.CheckMessage]:
    """kscope.E002: every process of a deployment would sign with a key of its own."""
    if settings.SECRET_KEY_LASTS:
        return []
    return [
        checks.Error(
            "No secret key is set, so each process makes its own.",
            hint="Set KSCOPE_SECRET_KEY to a long random text.",
            id="kscope.E002",
        )
    ]
