"""The types of the operations page's JSON; see kscope/runs/web/shapes."""

from typing import TypedDict


class Process(TypedDict):
    """A process of kscope that has given a sign of life."""

    role: str
    owner: str
    """its name as leases have it"""
    since: str
    """RFC 3339"""
    memory_bytes: int
    sockets: int
    drives: list[int]
    """ids of runs"""


class Lease(TypedDict):
    """A run that a worker drives."""

    run: int
    name: str
    status: str
    owner: str
    epoch: int
    held_s: float
    left_s: float


class PendingCommand(TypedDict):
    """A command that no worker has carried out yet."""

    id: int
    run: int
    verb: str
    object: str
    age_s: float


class LargeRun(TypedDict):
    """One of the runs with the most events."""

    run: int
    name: str
    status: str
    kept: bool
    events: int
    checkpoints: int
    checkpoint_bytes: int


class LargeTable(TypedDict):
    """One of the largest tables of the database."""

    table: str
    rows: int
    dead_rows: int
    bytes: int


class Failure(TypedDict):
    """A run that failed, or that this version cannot continue."""

    run: int
    name: str
    status: str
    error: str
    at: str | None
    """RFC 3339"""


class RetentionPolicy(TypedDict):
    """After how many days something is deleted; 0 for never."""

    delete_runs_days: int
    thin_runs_days: int
    drop_evidence_days: int


class Overview(TypedDict):
    """Workers, leases, queues, and what is large."""

    processes: list[Process]
    queues: dict[str, int]
    """how many tasks wait, by name"""
    valkey_problem: str
    """why it does not answer; empty when it does"""
    runs: dict[str, int]
    """how many, by status"""
    waiting: list[int]
    """ids of runs that need a worker; the first of `waiting_count`"""
    waiting_count: int
    leases: list[Lease]
    commands: list[PendingCommand]
    """the oldest"""
    largest: list[LargeRun]
    tables: list[LargeTable]
    database_bytes: int
    failures: list[Failure]
    """the newest first"""
    retention: RetentionPolicy
