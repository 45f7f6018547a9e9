"""Gives a child process the database of its parent; in tests the settings name another one."""

from django.db import connection


def database_name() -> str:
    """The database that this process works on."""
    return str(connection.settings_dict["NAME"])


def database_use(name: str) -> None:
    """Work on the database called *name* from now on."""
    if connection.settings_dict["NAME"] != name:
        connection.close()
        connection.settings_dict["NAME"] = name
