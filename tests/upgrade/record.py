"""Writes a small database full of runs: `python -m tests.upgrade.record FILE.sql.xz`.

Run it in a checkout of the version whose runs later versions are to open. The file is plain SQL, as
pg_dump writes it: schema, migrations and rows. tests/upgrade/test_older_runs.py loads it.
"""

import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from kscope.up.account import own_directory, server_account
from kscope.up.postgres import Postgres, find_binaries

ROOM = Path(__file__).resolve().parents[2]
MINUTE = 60 * 10**9


def main() -> None:
    """Start a server, fill its database, dump it."""
    target = Path(sys.argv[1])
    with tempfile.TemporaryDirectory(prefix="kscope-record-") as folder:
        user = server_account()
        sockets = own_directory(Path(folder), user)
        postgres = Postgres(Path(folder, "postgres"), sockets, Path(folder, "log"), user, True)
        server = postgres.start()
        try:
            os.environ["DATABASE_URL"] = postgres.url
            _populate()
            dump = [find_binaries(user) / "pg_dump", "--no-owner", "--rows-per-insert=200"]
            sql = subprocess.run([*dump, postgres.url], check=True, capture_output=True).stdout
        finally:
            server.stop()
    target.write_bytes(lzma.compress(sql, preset=9))
    print(f"{target}: {len(sql)} bytes of SQL in {target.stat().st_size} bytes")


def _populate() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
    import django

    django.setup()
    from django.core.management import call_command

    from kscope.runs import services
    from kscope.runs.app_registry import registry
    from kscope.runs.drive import driver, runner
    from kscope.runs.models import Run, Scenario
    from tests.web.conftest import CLUSTER

    call_command("migrate", interactive=False, verbosity=0)
    registry.enqueue = lambda run_id: None
    driver.LINGER_SECONDS = 0.0

    def scenario(name: str, text: bytes) -> Scenario:
        from engine.input.loader import load_files

        return services.scenario_store(name=name, result=load_files([(f"{name}.yaml", text)]))

    def demo(name: str) -> Scenario:
        return scenario(name, (ROOM / "scenarios" / f"{name}.yaml").read_bytes())

    def command(run: Run, **body: object) -> None:
        services.command_submit(run=run, body=body)
        runner.run_drive(run.pk)

    def played(run: Run, until: int) -> Run:
        """Play up to a moment, where the run pauses."""
        Run.objects.filter(pk=run.pk).update(until=until, status="playing", speed="max")
        runner.run_drive(run.pk)
        Run.objects.filter(pk=run.pk).update(until=None, status="paused")
        run.refresh_from_db()
        return run

    small = scenario("small", CLUSTER.encode())
    late = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "extra", "namespace": "default"},
        "spec": {"containers": [{"name": "c", "image": "app:1"}]},
    }

    # 1: played to its end.
    played(services.run_create(scenario=small, seed=7), 5 * MINUTE)
    Run.objects.filter(name="small").update(status="finished")

    # 2: paused midway, with commands applied and one refused; 3: a fork of it.
    midway = played(services.run_create(scenario=small), 1_000_000_000)
    command(midway, verb="cordon", object="node/n1")
    command(midway, verb="delete", object="node/not-there")
    midway = played(midway, 3_000_000_000)
    command(midway, verb="create", manifest=late)
    midway = played(midway, 30_000_000_000)
    fork = services.run_fork(run=midway, seq=midway.head_seq - 3, name="a fork")
    runner.run_drive(fork.pk)
    played(fork, 45_000_000_000)

    # 4 and 5: an older Kubernetes; volumes. 6: faults. 7: still playing when the server went,
    # with a command that nobody has carried out.
    played(services.run_create(scenario=small, profile="v1.16"), 20_000_000_000)
    played(services.run_create(scenario=demo("zone-mismatch"), profile="v1.20"), MINUTE)
    played(services.run_create(scenario=demo("dangling-attach")), 2 * MINUTE)
    playing = played(services.run_create(scenario=demo("half-bound")), 10_000_000_000)
    services.command_submit(run=playing, body={"verb": "create", "manifest": late})
    Run.objects.filter(pk=playing.pk).update(status="playing", lease_owner="gone:1")
    for run in Run.objects.order_by("pk"):
        kept = run.checkpoints.count()
        print(f"{run} {run.profile} {run.status} at {run.head_seq}, {kept} checkpoints")


if __name__ == "__main__":
    main()
