"""Names of the two components, and of the objects through which they meet."""

import hashlib
from typing import Final

COMPONENT: Final = "attach-detach"
ATTACHER: Final = "csi-attacher"


def attachment_name(volume_handle: str, driver: str, node: str) -> str:
    """The name of a VolumeAttachment. Upstream: csi_attacher.go, getAttachmentName."""
    digest = hashlib.sha256(f"{volume_handle}{driver}{node}".encode()).hexdigest()
    return f"csi-{digest}"
