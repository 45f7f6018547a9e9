"""What docker-compose.yml and the Dockerfile ask for, without a daemon: root and namespaces suffice.

A container has a file system, processes and a host name of its own; all of them share one network,
which is not that of the machine. The images of others are this machine's Debian with the servers
of `.venv`: the command of theirs that compose relies on is written down here.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from functools import cached_property
from pathlib import Path
from typing import Any, Final, cast

import yaml

from kscope.up import postgres, valkey

ROOM: Final = Path(__file__).parents[2]
_VENV: Final = "/opt/venv"
# What docker-entrypoint.sh of the image does when its data folder is empty, and then the command.
_POSTGRES: Final = """
export PGDATA=/var/lib/postgresql/18/docker
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" > /tmp/password
    initdb --username "$POSTGRES_USER" --pwfile /tmp/password --auth-host scram-sha-256 >/dev/null
    echo "CREATE DATABASE $POSTGRES_DB" | postgres --single postgres
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
fi
# The programs of the wheel look for the socket in /tmp.
exec "$@" -c "listen_addresses=*" -c unix_socket_directories=/var/run/postgresql,/tmp
"""
_VALKEY_CLI: Final = f"""#!{_VENV}/bin/python
import os, sys, valkey
print("PONG" if valkey.Valkey(password=os.environ["REDISCLI_AUTH"]).execute_command(*sys.argv[1:]) else "")
"""
# $1 is the new root, $2 the folder with what to put there; the rest is the command.
_ENTER: Final = """
set -eu
root=$1 parts=$2 python=$3 venv=$4; shift 4
mount --make-rprivate /
mount -t tmpfs -o mode=755 tmpfs "$root"
cd "$root"
bound() { mkdir -p ".$2"; mount --bind "$1" ".$2"; mount -o remount,bind,ro ".$2"; }
for folder in /usr /etc "$python"; do bound "$folder" "$folder"; done
for link in bin sbin lib lib64; do [ ! -e "/$link" ] || ln -s "usr/$link" "$link"; done
bound "$venv" /opt/venv
bound "$parts/app" /app
bound "$parts/bin" /opt/bin
for file in hosts passwd; do mount --bind "$parts/$file" "./etc/$file"; done
mkdir -p proc dev tmp data var/run var/lib/postgresql
mount -t proc proc proc
mount --rbind /dev dev
mount -t tmpfs tmpfs dev/shm
eval "$MOUNTS"
[ -z "$READ_ONLY" ] || mount -o remount,ro .
hostname "$HOSTNAME"
cd app
unset MOUNTS READ_ONLY
exec chroot "$root" sh -c 'cd /app; exec "$@"' - "$@"
"""


class Compose:
    """The services of docker-compose.yml, with the variables of an .env file; all in *folder*."""

    def __init__(self, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        read = yaml.safe_load((ROOM / "docker-compose.yml").read_text())
        self.services: dict[str, Any] = _filled(read["services"], variables)
        self.dockerfile = (ROOM / "Dockerfile").read_text()
        self._containers: dict[str, Container] = {}
        self._make_image()
        # Holds the network that the containers share.
        loopback = [
            "unshare",
            "--net",
            "sh",
            "-c",
            "ip link set lo up && echo up && exec sleep inf",
        ]
        self.network = subprocess.Popen(loopback, stdout=subprocess.PIPE)
        assert self.network.stdout
        assert self.network.stdout.readline() == b"up\n"

    def container(self, name: str) -> "Container":
        """The container of a service, which is started when it is first asked for."""
        if name not in self._containers:
            self._containers[name] = Container(self, name, self.services[name])
        return self._containers[name]

    def in_order(self) -> list[str]:
        """The services, each behind those that it depends on."""
        found: dict[str, None] = {}

        def add(name: str) -> None:
            for other in self.services[name].get("depends_on", ()):
                add(other)
            found[name] = None

        for name in self.services:
            add(name)
        return [*found]

    def stop(self) -> None:
        """End all containers, and their network."""
        for container in reversed(self._containers.values()):
            container.stop()
        self.network.kill()
        self.network.communicate()

    def _make_image(self) -> None:
        """What the stage `files` of the Dockerfile has, out of a checkout made under umask 077."""
        files = self.dockerfile.partition(" AS files\n")[2].partition("\nFROM ")[0]
        app = self.folder / "app"
        app.mkdir()
        for source, target in re.findall(r"^COPY (\S+) (\S+)$", files, re.M):
            if (ROOM / source).is_dir():
                shutil.copytree(ROOM / source, app / target)
            else:
                shutil.copy2(ROOM / source, app / target)
        modules = json.loads((ROOM / "package-lock.json").read_text())["packages"]
        # The stage `page` takes esbuild away again.
        wanted = [name for name, one in modules.items() if name and not one.get("dev")]
        for module in [name for name in wanted if "esbuild" not in name]:
            shutil.copytree(ROOM / module, app / module)
        subprocess.run(["chmod", "-R", "go=", app], check=True)
        for command in re.findall(r"^RUN (chmod .*)$", files, re.M):
            subprocess.run(shlex.split(command.replace("/app", str(app))), check=True)
        programs = self.folder / "bin"
        programs.mkdir()
        servers = postgres.find_binaries(None)
        for program in (valkey.find_binary(), *servers.iterdir()):
            (programs / program.name).symlink_to(str(program).replace(sys.prefix, _VENV))
        (programs / "valkey-cli").write_text(_VALKEY_CLI)
        (programs / "valkey-cli").chmod(0o755)
        names = " ".join(self.services)
        (self.folder / "hosts").write_text(f"127.0.0.1 localhost {names}\n")
        users = "root:x:0:0::/:/bin/sh\nkscope:x:10001:10001::/:\nserver:x:999:999::/:\n"
        (self.folder / "passwd").write_text(users)
        self.folder.chmod(0o755)


class Container:
    """The container of one service; *asked* is what docker-compose.yml has for it."""

    def __init__(self, compose: Compose, name: str, asked: dict[str, Any]) -> None:
        self._compose = compose
        self._asked = asked
        self._name = name
        root = compose.folder / f"root-{name}"
        root.mkdir()
        self.log = compose.folder / f"{name}.log"
        inside = [
            f"--net=/proc/{compose.network.pid}/ns/net",
            "unshare",
            "--mount",
            "--pid",
            "--uts",
        ]
        inside += ["--fork", "sh", "-c", _ENTER, "sh", str(root)]
        inside += [str(compose.folder), sys.base_prefix, sys.prefix]
        settings = {"MOUNTS": self._mounts(), "READ_ONLY": "1" if asked.get("read_only") else ""}
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                ["nsenter", *inside, *self._as_asked(), *self._command()],
                env=self._environment | settings,
                stdout=log,
                stderr=log,
            )

    def exec(self, *command: str, **options: Any) -> "subprocess.CompletedProcess[bytes]":
        """`docker compose exec`: the command in the running container."""
        return subprocess.run(
            [*self.entering(), *command], env=self._environment, check=False, **options
        )

    def entering(self) -> list[str]:
        """What to put before a command that is to run in the container."""
        spaces = ["--mount", "--pid", "--net", "--uts", "--root", "--wd"]
        return ["nsenter", "--target", self._first(), *spaces, *self._as_asked()]

    def _first(self) -> str:
        """The number that its first process has outside, or "" before there is one."""
        pid = self._process.pid
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()

    def as_case(self, name: str) -> str:
        """A line for a shell's `case`: what follows its name is run in the container."""
        words = shlex.join(["env", "-i", *(f"{k}={v}" for k, v in self._environment.items())])
        return f'{name}) exec {words} {shlex.join(self.entering())} "$@" ;;\n'

    def is_healthy(self) -> bool:
        """Whether its health check succeeds now. Raises AssertionError when it has ended."""
        assert self._process.poll() is None, f"{self._name} has ended: {self.log.read_text()}"
        if not self._first():
            return False
        how, *command = self._asked["healthcheck"]["test"]
        shell = command if how == "CMD" else ["sh", "-c", *command]
        return self.exec(*shell, capture_output=True).returncode == 0

    def stop(self) -> None:
        """End it at once: with its first process all others end."""
        if self._process.poll() is None and (first := self._first()):
            os.kill(int(first), signal.SIGKILL)
        self._process.wait()

    @cached_property
    def _environment(self) -> dict[str, str]:
        image = re.findall(
            r"(\w+)=(\S+)", " ".join(re.findall(r"^ENV (.*)$", self._of_image(), re.M))
        )
        path = f"/opt/bin:{_VENV}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
        asked = {name: str(value) for name, value in self._asked["environment"].items()}
        return {"PATH": path, "HOSTNAME": self._name, **dict(image), **asked}

    def _of_image(self) -> str:
        return self._compose.dockerfile if self._asked["image"] == "kscope" else ""

    def _command(self) -> list[str]:
        asked = self._asked["command"]
        command = shlex.split(asked) if isinstance(asked, str) else asked
        return ["sh", "-ec", _POSTGRES, "sh", *command] if self._name == "postgres" else command

    def _as_asked(self) -> list[str]:
        """The account, without capabilities and new privileges where compose says so."""
        user, _, group = self._asked["user"].partition(":")
        limits = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]
        if "no-new-privileges:true" in self._asked.get("security_opt", ()):
            limits.append("--no-new-privs")
        if self._asked.get("cap_drop") == ["ALL"]:
            limits += ["--inh-caps=-all", "--bounding-set=-all"]
        return limits

    def _mounts(self) -> str:
        """Its volumes, which belong to its account as in the image, and its temporary folders."""
        lines: list[str] = []
        for volume in self._asked.get("volumes", ()):
            name, _, target = volume.partition(":")
            kept = self._compose.folder / f"volume-{name}"
            kept.mkdir(exist_ok=True)
            os.chown(kept, *map(int, self._asked["user"].split(":")))
            lines.append(f"mount --bind {kept} .{target}")
        for place in self._asked.get("tmpfs", ()):
            target, _, options = place.partition(":")
            lines.append(
                f"mkdir -p .{target}; mount -t tmpfs -o {options or 'mode=1777'} tmpfs .{target}"
            )
        return "\n".join(lines)


def _filled(node: Any, variables: dict[str, str]) -> Any:
    """What was read from the file, its variables filled in as compose does it."""

    def value(found: re.Match[str]) -> str:
        name, how, otherwise = found.groups()
        if name is None:
            return "$"
        return variables[name] if how == "?" else variables.get(name) or otherwise or ""

    if isinstance(node, dict):
        return {key: _filled(each, variables) for key, each in cast("Any", node).items()}
    if isinstance(node, list):
        return [_filled(each, variables) for each in cast("Any", node)]
    if not isinstance(node, str):
        return node
    return re.sub(r"\$\$|\$\{(\w+)(?::([-?])([^}]*))?\}", value, node)
