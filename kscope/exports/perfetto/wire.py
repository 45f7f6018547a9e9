"""The few parts of protobuf that a trace is written with: numbers, texts, messages.

Upstream: protos/perfetto/trace/trace_packet.proto and track_event/*.proto, for the numbers of fields.
Writing them takes these lines; the classes of the package perfetto, which tests read the trace with,
take four times as long.
"""

from __future__ import annotations

from typing import Final

_LENGTH: Final = 2
_VARINT: Final = 0
_FIXED: Final = 1


def varint(value: int) -> bytes:
    """A number as seven bits a byte, the lowest first; negative ones as 64 bits."""
    value &= 0xFFFF_FFFF_FFFF_FFFF
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)


def number(field: int, value: int) -> bytes:
    """A field that holds a number."""
    return varint(field << 3 | _VARINT) + varint(value)


def fixed64(field: int, value: int) -> bytes:
    """A field that holds 64 bits."""
    return varint(field << 3 | _FIXED) + value.to_bytes(8, "little")


def text(field: int, value: str) -> bytes:
    """A field that holds a text."""
    return message(field, value.encode("utf-8", "replace"))


def message(field: int, value: bytes) -> bytes:
    """A field that holds a message, or bytes."""
    return varint(field << 3 | _LENGTH) + varint(len(value)) + value
