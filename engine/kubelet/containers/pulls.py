"""Images that cannot be pulled. Upstream: pkg/kubelet/images/image_manager.go, EnsureImageExists()."""

from typing import Final, Protocol

from engine.kubelet.containers.restarts import BACKOFF, LOOK_AGAIN, MAX_BACKOFF
from engine.kubelet.containers.state import Container, FailedPulls, PodContainers, State
from engine.kubelet.context import KubeletContext
from engine.kubelet.worker import Worker
from engine.objects.objects import Pod
from engine.storage.ports import NORMAL, WARNING

FAILED: Final = "ErrImagePull"
BACKING_OFF: Final = "ImagePullBackOff"
# What a container runtime says of an image that no registry has, where a script says nothing.
_NOT_FOUND: Final = (
    'rpc error: code = NotFound desc = failed to pull and unpack image "{image}": '
    'failed to resolve reference "{image}": {image}: not found'
)


class PullHost(Protocol):
    """Who starts containers, and hears of their images."""

    def create(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        """Create a container; its image is pulled first, if need be."""
        ...

    def sync(self, worker: Worker, pod: PodContainers) -> None:
        """Something about the containers of a pod is another than before."""
        ...

    def emit(self, pod: Pod, kind: str, reason: str, message: str) -> None:
        """An Event of the kubelet about *pod*."""
        ...


class ImagePuller:
    """Has the pulls of images fail of which a script says so, and waits before the next."""

    __slots__ = ("_host", "_loop", "_rules")

    def __init__(self, context: KubeletContext, host: PullHost) -> None:
        self._loop = context.loop
        self._rules = context.container_rules
        self._host = host

    def begin(self, pod: Pod, container: Container) -> None:
        """A pull begins; there is an Event where a script speaks of pulls."""
        if container.part.script.pull is not None:
            self._host.emit(pod, NORMAL, "Pulling", f'Pulling image "{_image(container)}"')

    def has_image(self, worker: Worker, pod: PodContainers, container: Container) -> bool:
        """Whether the pull that has just ended brought the image; else the container waits now.

        What it waits for shows in the status then.
        """
        script = container.part.script.pull
        if container.was_created or script is None:
            return True
        if script.passes(self._loop.now - pod.began_at):
            container.pulling = FailedPulls()
            return True
        image, told = _image(container), script.output
        error = _NOT_FOUND.format(image=image) if told is None else told
        waits = self._rules.waits_to_pull.format(image=image, error=error)
        backoff = min(2 * container.pulling.backoff, MAX_BACKOFF) or BACKOFF
        container.pulling = FailedPulls(error, waits, self._loop.now, backoff)
        failed = f'Failed to pull image "{image}": {error}'
        self._host.emit(worker.pod, WARNING, "Failed", failed)
        self._host.emit(worker.pod, WARNING, "Failed", f"Error: {FAILED}")
        self._wait(worker, pod, container)
        return False

    def _wait(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        container.state = State.NO_IMAGE
        container.timer = self._loop.call_after(
            min(self._left(container), LOOK_AGAIN), self._look, worker, pod, container
        )
        self._host.sync(worker, pod)

    def _look(self, worker: Worker, pod: PodContainers, container: Container) -> None:
        container.timer = None
        if not self._left(container):
            self._host.create(worker, pod, container)
            return
        container.pulling.is_waiting = True
        waits = f'Back-off pulling image "{_image(container)}"'
        self._host.emit(worker.pod, NORMAL, "BackOff", waits)
        self._host.emit(worker.pod, WARNING, "Failed", f"Error: {BACKING_OFF}")
        self._wait(worker, pod, container)

    def _left(self, container: Container) -> int:
        """How long the next pull has still to wait, ns. Upstream: IsInBackOffSinceUpdate()."""
        pulls = container.pulling
        return max(0, pulls.failed_at + pulls.backoff - self._loop.now)


def reason_of_no_image(container: Container) -> str:
    """Why a container waits that has no image."""
    return BACKING_OFF if container.pulling.is_waiting else FAILED


def message_of_no_image(container: Container) -> str:
    """What its status says of that."""
    return container.pulling.waits if container.pulling.is_waiting else container.pulling.error


def _image(container: Container) -> str:
    return str(container.spec.get("image") or "")
