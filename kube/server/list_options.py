"""What a request for several objects says beside its selectors: pages, versions, and how it watches.

Upstream: apimachinery/pkg/apis/meta/internalversion, ListOptions; its validation/validation.go;
apiserver/pkg/storage/continue.go.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson

from kube.status import ApiError, bad_request, cause_of, invalid_options

# Events after which it is cheaper to list again: an older version is too old for lists and watches.
FAR_BEHIND = 200_000
# So long a page can be followed by the next one of the same version. Upstream:
# apiserver/pkg/storage/storagebackend/config.go, DefaultCompactInterval.
TOKEN_SECONDS = 300
EXACT: Final = "Exact"
NOT_OLDER: Final = "NotOlderThan"
# A token with it goes on in the newest version.
NEWEST: Final = -1
_FORMAT: Final = "meta.k8s.io/v1"
_INVALID: Final = "continue key is not valid"
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_VERSION = re.compile(r"[0-9]+", re.ASCII)
_NOT_BASE64 = re.compile(rb"[^A-Za-z0-9_-]")
_LARGEST = 2**63 - 1
_LARGEST_VERSION = 2**64 - 1


class Token(NamedTuple):
    """Where a list goes on: after *start*, a key without that of its collection.

    The pages are those of *version*, which was the newest at *taken*, in seconds of the wall.
    """

    version: int
    start: str
    taken: int

    @property
    def text(self) -> str:
        """As a client gets it. Upstream: EncodeContinue()."""
        # A NUL ends the last key, so that the list goes on at the next one.
        told = {"v": _FORMAT, "rv": self.version, "start": f"{self.start}\0", "taken": self.taken}
        return urlsafe_b64encode(orjson.dumps(told)).rstrip(b"=").decode()

    @classmethod
    def read(cls, text: str) -> "Token":
        """The token that a client sends. Raises ApiError. Upstream: DecodeContinue()."""
        told = _told(_decoded(text))
        if told.get("v") != _FORMAT:
            raise _no_token(
                f"{_INVALID}: server does not recognize this encoded version {told.get('v', '')}"
            )
        version, start, taken = told.get("rv", 0), told.get("start", ""), told.get("taken", 0)
        are_numbers = type(version) is int and type(taken) is int
        if not are_numbers or not isinstance(start, str) or abs(version) > _LARGEST:
            raise _no_token(_INVALID)
        if version == 0:
            raise _no_token(
                f"{_INVALID}: incorrect encoded start resourceVersion (version {_FORMAT})"
            )
        if not start:
            raise _no_token(f"{_INVALID}: encoded start key empty (version {_FORMAT})")
        parts = start.removeprefix("/").split("/")
        after = start.removeprefix("/").removesuffix("\0")
        is_path = len(parts) == 1 or {"", ".", ".."}.isdisjoint(parts)
        if not is_path or "\0" in after:  # no key of a table has a NUL
            raise _no_token(f"{_INVALID}: {start}")
        return cls(version, after, taken)


@dataclass(frozen=True, slots=True)
class ListOptions:
    """The options of a list, of a watch, or of the deletion of a collection.

    *version* is 0 where none, or any, is asked for. `is_any`: "0" was asked for.
    """

    is_watch: bool = False
    version: int = 0
    is_any: bool = False
    match: str = ""
    limit: int = 0
    token: Token | None = None
    sends_initial: bool | None = None
    with_bookmarks: bool = False
    seconds: int = 0

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "ListOptions":
        """What the query of a request says. Raises ApiError for what upstream refuses."""
        sends_initial = _truth(query, "sendInitialEvents")
        limit, seconds = _integer(query, "limit"), _integer(query, "timeoutSeconds")
        is_watch = bool(_truth(query, "watch"))
        faults = [*(_watch_faults if is_watch else _list_faults)(query, sends_initial)]
        if faults:
            raise invalid_options([cause_of(one) for one in faults])
        version, token = query.get("resourceVersion", ""), query.get("continue", "")
        if token and not is_watch:
            given = Token.read(token)
            if version not in ("", "0"):
                raise bad_request("specifying resource version is not allowed when using continue")
        else:
            given = None
        return cls(
            is_watch,
            version_of(version),
            version == "0",
            query.get("resourceVersionMatch", ""),
            max(limit, 0),
            given,
            sends_initial,
            bool(_truth(query, "allowWatchBookmarks")),
            seconds,
        )

    @property
    def has_initial(self) -> bool:
        """Whether a watch begins with the objects that there are.

        Upstream: internalversion/defaults.go, SetListOptionsDefaults().
        """
        return not self.version if self.sends_initial is None else self.sends_initial

    @property
    def exact(self) -> int:
        """The only version that the objects may be of; 0 for the newest.

        Upstream: etcd3/store.go, GetList(): a limit makes a version an exact one.
        """
        if self.token is not None:
            return max(self.token.version, 0)
        is_page = not self.match and self.limit > 0
        return self.version if self.match == EXACT or is_page else 0

    @property
    def most(self) -> int:
        """How many objects a page has at most; 0 for any number.

        Upstream: cacher/cacher.go, computeListLimit(): any version that there is comes whole.
        """
        return 0 if self.is_any and self.token is None else self.limit


def version_of(text: str) -> int:
    """The version that a client names, 0 for none. Raises ApiError.

    Upstream: storage/api_object_versioner.go, ParseResourceVersion().
    """
    if text and not _VERSION.fullmatch(text):
        why = "invalid syntax"
    elif text and int(text[:30]) > _LARGEST_VERSION:
        why = "value out of range"
    else:
        return int(text or 0)
    wrong = f'strconv.ParseUint: parsing "{text}": {why}'
    raise bad_request(
        f'invalid resource version: resourceVersion: Invalid value: "{text}": {wrong}'
    )


def _truth(query: Mapping[str, str], name: str) -> bool | None:
    """Upstream: runtime/conversion.go, Convert_Slice_string_To_bool(). None: it is not there."""
    return None if name not in query else query[name].lower() not in ("0", "false")


def _integer(query: Mapping[str, str], name: str) -> int:
    """Upstream: runtime/conversion.go, Convert_Slice_string_To_int64()."""
    text = query.get(name, "0")
    is_number = _INTEGER.fullmatch(text)
    if not is_number or abs(int(text[:30])) > _LARGEST:
        why = "value out of range" if is_number else "invalid syntax"
        raise bad_request(f'strconv.ParseInt: parsing "{text}": {why}')
    return int(text)


def _list_faults(query: Mapping[str, str], sends_initial: bool | None) -> Iterator[str]:
    """Upstream: validation.go, ValidateListOptions()."""
    match, field = query.get("resourceVersionMatch", ""), "resourceVersionMatch"
    if match:
        if not query.get("resourceVersion"):
            yield f"{field}: Forbidden: {field} is forbidden unless resourceVersion is provided"
        if query.get("continue"):
            yield f"{field}: Forbidden: {field} is forbidden when continue is provided"
        if match not in (EXACT, NOT_OLDER):
            yield _unsupported(match, EXACT, NOT_OLDER, "")
        if match == EXACT and query.get("resourceVersion") == "0":
            yield f'{field}: Forbidden: {field} "exact" is forbidden for resourceVersion "0"'
    if sends_initial is not None:
        yield "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list"


def _watch_faults(query: Mapping[str, str], sends_initial: bool | None) -> Iterator[str]:
    """Upstream: validation.go, validateWatchOptions()."""
    match, field = query.get("resourceVersionMatch", ""), "resourceVersionMatch"
    if sends_initial is not None and match != NOT_OLDER:
        yield f"{field}: Forbidden: sendInitialEvents requires setting {field} to {NOT_OLDER}"
    if match:
        if sends_initial is None:
            yield (
                f"{field}: Forbidden: {field} is forbidden for watch unless sendInitialEvents is "
                "provided"
            )
        if match != NOT_OLDER:
            yield _unsupported(match, NOT_OLDER)
        if query.get("continue"):
            yield f"{field}: Forbidden: {field} is forbidden when continue is provided"


def _unsupported(match: str, *supported: str) -> str:
    listed = ", ".join(f'"{one}"' for one in supported)
    return f'resourceVersionMatch: Unsupported value: "{match}": supported values: {listed}'


def _decoded(text: str) -> bytes:
    """Upstream: encoding/base64, RawURLEncoding."""
    data = text.encode(errors="surrogatepass")
    wrong = _NOT_BASE64.search(data)
    if wrong is not None or len(data) % 4 == 1:
        place = wrong.start() if wrong is not None else len(data) - 1
        raise _no_token(f"{_INVALID}: illegal base64 data at input byte {place}")
    return urlsafe_b64decode(data + b"=" * (-len(data) % 4))


def _told(data: bytes) -> dict[str, Any]:
    try:
        told = orjson.loads(data)
    except orjson.JSONDecodeError:
        told = None
    if not isinstance(told, dict):
        raise _no_token(_INVALID)
    return told


def _no_token(why: str) -> ApiError:
    return bad_request(f"invalid continue token: {why}")
