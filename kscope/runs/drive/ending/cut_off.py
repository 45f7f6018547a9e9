"""Sessions of the database that were cut off while they wrote a slice, and hold the row of its run.

Whoever writes a slice locks the row of its run first. If its machine is lost, or it hangs, between
that and the commit, PostgreSQL keeps the transaction for as long as it takes the connection for
alive, which may be hours, and nobody else can take the run. PostgreSQL's own limits do not serve:
`transaction_timeout` is not there before version 17 and would end long slices that live, and an
`idle_in_transaction_session_timeout` does not run after statements that were sent together, or in
the middle of a COPY.
"""

import logging

from django.db import connection

from kscope.runs import leases

log = logging.getLogger(__name__)
# The first number of the lock that names the run whose slice a session writes; any one will do.
_CLASS = 4_063
# What a slice's first statement has among its conditions. As the lock is shared it always holds.
MARK = f"pg_try_advisory_xact_lock_shared({_CLASS}, mod(id, 2147483648)::integer)"
# A transaction that is older, and whose run nobody has, is not awaited any longer. If its process
# does live it writes the slice once more, or finds that another one has the run.
CUT_OFF_SECONDS = 30

_END = (
    "SELECT r.id, pg_terminate_backend(a.pid) FROM runs_run r"
    f" JOIN pg_locks l ON l.locktype = 'advisory' AND l.classid = {_CLASS} AND l.objsubid = 2"
    "  AND l.objid = mod(r.id, 2147483648)"
    " JOIN pg_stat_activity a ON a.pid = l.pid AND a.datid = l.database"
    f" WHERE r.id = ANY(%s) AND {leases.free('r')} AND a.datname = current_database()"
    "  AND a.xact_start < clock_timestamp() - make_interval(secs => %s)"
)


def sessions_end(run_ids: list[int]) -> None:
    """End those that were cut off in the middle of a slice of these runs, which have no owner."""
    with connection.cursor() as cursor:
        cursor.execute(_END, [run_ids, CUT_OFF_SECONDS])
        for run_id, _ in cursor.fetchall():
            log.warning("whoever wrote a slice of run %s was cut off: its session ends", run_id)
