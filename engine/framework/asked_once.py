"""Protocols that look at each class once."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from abc import ABCMeta as ProtocolMeta
else:
    ProtocolMeta = type(Protocol)


class AskedOnce(ProtocolMeta):
    """Metaclass of protocols whose members are those of classes, never of single instances.

    Python looks at all members whenever `isinstance` is called, and each scheduler that is made,
    as in a fork, asks each of its plugins about most protocols. Before Python 3.12 that took half
    of the time in which it was made.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        asked = cls, type(instance)
        if asked not in _answers:
            _answers[asked] = super().__instancecheck__(instance)
        return _answers[asked]


# Not an attribute of the protocol, which would be taken for one of its members.
_answers: dict[tuple[type, type], bool] = {}
