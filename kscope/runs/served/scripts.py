"""What containers of a run do, by its scenario."""

from channels.db import database_sync_to_async

from kscope.runs.selectors import run_scripts

scripts_of_run = database_sync_to_async(run_scripts)
