"""The admin: runs and what they recorded; editing an object gives the engine a command.

Django looks here for the pages of the app.
"""

from kscope.runs.admin.labels import label_object
from kscope.runs.admin.objects import OtherObjectAdmin
from kscope.runs.admin.records import (
    CheckpointAdmin,
    CommandAdmin,
    EventRecordAdmin,
    RunAdmin,
    ScenarioAdmin,
)

__all__ = [
    "CheckpointAdmin",
    "CommandAdmin",
    "EventRecordAdmin",
    "OtherObjectAdmin",
    "RunAdmin",
    "ScenarioAdmin",
    "label_object",
]
