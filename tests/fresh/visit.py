"""`python3 visit.py CHECKOUT`: run `make up` there, use what it serves, and end it with Ctrl-C.

Standard library only: on a new machine there is nothing else. The file mode mask is that of $UMASK.
Prints what `make up` printed; the exit status is 1 when something was not as it has to be.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

PATIENCE_S = 1800
PORT = os.environ.get("PORT", "8947")
ADDRESS = f"http://127.0.0.1:{PORT}"
SCENARIO = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: fresh}
spec:
  duration: 30s
  steps:
  - at: 1s
    create:
      apiVersion: v1
      kind: Pod
      metadata: {name: waits, namespace: default}
      spec: {containers: [{name: main, image: pause}]}
"""


def main(checkout):
    """Start, visit, stop."""
    os.umask(int(os.environ.get("UMASK", "022"), 8))
    began = time.monotonic()
    up = subprocess.Popen(
        ["make", "up"],
        cwd=checkout,
        env={**os.environ, "PORT": PORT},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        process_group=0,
    )
    try:
        wait_for_address(up)
        print(f"   the address after {time.monotonic() - began:.0f} s", flush=True)
        use()
    finally:
        if up.poll() is None:
            os.killpg(up.pid, signal.SIGINT)
        rest = up.communicate(timeout=120)[0]
        print(rest.decode(errors="replace"), end="", flush=True)
    # GNU make says 2 where what it ran was interrupted.
    assert up.returncode in (0, 2, -signal.SIGINT), up.returncode
    assert not Path(checkout, ".kscope", "run.json").exists(), "it has left run.json behind"


def wait_for_address(up):
    """Until it prints the address. Raises AssertionError when it ends before."""
    for line in up.stdout:
        text = line.decode(errors="replace")
        if not re.match(r"  \d+/\d+ ", text):  # which packages it installs
            print(f"   {text}", end="", flush=True)
        if text.startswith("kscope is at "):
            return
    raise AssertionError(f"make up ended with {up.wait()}")


def use():
    """Load the page, upload a scenario, play it to its end, look at its pod."""
    assert b"kscope" in urlopen(f"{ADDRESS}/").read()
    made = ask("/api/v1/scenarios/", upload=SCENARIO)
    run = ask("/api/v1/runs/", {"scenario": made["id"], "play": True, "speed": "max"})["id"]
    deadline = time.monotonic() + PATIENCE_S
    while (seen := ask(f"/api/v1/runs/{run}/"))["status"] != "finished":
        assert seen["status"] in ("playing", "paused"), seen
        assert time.monotonic() < deadline, seen
        time.sleep(0.2)
    for page in ("", "pods/default/waits/", "volumes/", "machines/"):
        assert urlopen(f"{ADDRESS}/runs/{run}/{page}").status == 200
    pods = ask(f"/k8s/runs/{run}/api/v1/pods")["items"]
    assert [pod["metadata"]["name"] for pod in pods] == ["waits"], pods
    print(f"   played to {seen['used']['events']} events, and its pages are there", flush=True)


def ask(path, body=None, upload=None):
    """What it answers, as JSON."""
    data, kind = (json.dumps(body).encode(), "application/json") if body else (None, "")
    if upload is not None:
        data = (
            '--x\r\nContent-Disposition: form-data; name="files"; filename="fresh.yaml"\r\n\r\n'
            f"{upload}\r\n--x--\r\n"
        ).encode()
        kind = "multipart/form-data; boundary=x"
    headers = {"Content-Type": kind, "Origin": ADDRESS} if data else {}
    try:
        with urlopen(Request(ADDRESS + path, data, headers), timeout=120) as answer:
            return json.load(answer)
    except HTTPError as refusal:
        raise AssertionError(f"{path}: {refusal} {refusal.read().decode()}") from None


if __name__ == "__main__":
    main(sys.argv[1])
