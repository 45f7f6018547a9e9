"""What the pages of the admin say of times, and where their links lead."""

from django.utils.translation import gettext


def seconds(nanoseconds: int | None) -> str:
    """Virtual time as the pages write it."""
    if nanoseconds is None:
        return ""
    return gettext("{seconds} s").format(seconds=f"{nanoseconds / 1e9:.3f}")
