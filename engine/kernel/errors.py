"""Errors that the simulated API server answers with when it refuses a request."""


class SimError(Exception):
    """Base of every refusal that a caller is expected to handle."""


class ApiError(SimError):
    """An answer of the simulated API server other than success; `reason` is its status reason."""

    reason = "InternalError"


class NotFound(ApiError):
    """The object is not in the store."""

    reason = "NotFound"


class AlreadyExists(ApiError):
    """An object of that kind and key is in the store already."""

    reason = "AlreadyExists"


class Conflict(ApiError):
    """The write carried an older resourceVersion than the stored object's."""

    reason = "Conflict"


class TooManyRequests(ApiError):
    """A disruption budget does not allow the eviction now."""

    reason = "TooManyRequests"


class Invalid(ApiError):
    """The object would break a rule of its kind."""

    reason = "Invalid"


class NamespaceTerminating(ApiError):
    """Nothing new is made in a namespace that is being deleted."""

    reason = "Forbidden"


class Forbidden(ApiError):
    """Admission does not allow the object: a LimitRange or a ResourceQuota refuses it."""

    reason = "Forbidden"


class Denied(Forbidden):
    """An admission policy does not allow the write; it says itself for what reason."""

    def __init__(self, message: str, reason: str = "Invalid") -> None:
        super().__init__(message)
        self.reason = reason
