"""Hands a command over to `manage.py`: `kscope account`, `kscope kubeconfig`."""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from kscope.program.grammar import Request
from kscope.program.places import ROOM, data_folder
from kscope.program.speech.screen import Screen


def answer_managed(request: Request, screen: Screen) -> NoReturn:
    """Become that command: its words, its streams, its status. Never returns."""
    screen.end_progress()
    environment = {**os.environ, "KSCOPE_DATA": str(data_folder())}
    words = [sys.executable, str(ROOM / "manage.py"), request.command, *request.words]
    os.execve(sys.executable, words, environment)
