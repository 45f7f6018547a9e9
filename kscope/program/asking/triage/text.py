"""The text of triage: the headline, where it stands, a table of all causes, and a card for each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from engine.diagnosis.triage.drawn import NodesByReason
from engine.diagnosis.triage.report import Change, Group
from engine.framework.explaining.amounts import format_amount
from engine.objects.manifest_parts import section
from kscope.program.asking.reading.sight import instant_words
from kscope.program.asking.triage.changes import more_nodes, places_of, sign_of, told, words_of
from kscope.program.asking.triage.observing import sign_of_group
from kscope.program.asking.triage.refusals import shared_message, without_preemption
from kscope.program.speech.paper import Paper
from kscope.program.speech.words import counted, first_small, folded, human_duration, several

if TYPE_CHECKING:
    from kscope.program.asking.triage.answer import Triaged

MOST_CAUSES: Final = 12
_LABEL: Final = "   {:<11}"
# Where the names of nodes begin, behind their reason.
_REASON_WIDTH: Final = 44
_MOST_OF_LIST: Final = 12
_OUTSIDE: Final = (
    "Not looked at: container logs, image registries, network policies. They are outside the model."
)


def write_triage(paper: Paper, triaged: Triaged) -> None:
    """The answer for people."""
    found = triaged.found
    if not found.groups:
        _write_nothing(paper, triaged)
        return
    paper.paragraph(found.headline.rstrip(".") + ".", style="bold red")
    paper.line(where_it_stands(triaged), "dim")
    paper.line()
    _write_table(paper, triaged)
    _write_together(paper, triaged)
    for number, group in enumerate(found.groups[:MOST_CAUSES], 1):
        paper.line()
        _Card(paper, triaged, group).write(number)
    _write_more(paper, found.groups[MOST_CAUSES:])
    _write_unseen(paper, triaged)
    for text in (*(each.sentence for each in found.shared_causes), *found.notes):
        paper.line()
        paper.paragraph(text)


def where_it_stands(triaged: Triaged) -> str:
    """Counts, version and instant."""
    counts = triaged.evidence.counts
    nodes = counted(counts.get("Node", 0), "node")
    parts = [nodes if triaged.sight.has_nodes else "nodes not seen"]
    parts.append(counted(counts.get("Pod", 0), "pod"))
    claims = counts.get("PersistentVolumeClaim", 0)
    if claims or not triaged.found.groups:
        parts.append(counted(claims, "claim"))
    return f"{', '.join(parts)} · {triaged.found.profile} · {instant_words(triaged.source, triaged.found.instant)}"


# -- the table ---------------------------------------------------------------------------------------


def _write_table(paper: Paper, triaged: Triaged) -> None:
    groups = triaged.found.groups[:MOST_CAUSES]
    ages = [_age(triaged, group) for group in groups]
    has_others = any(_held_others(each) for each in groups)
    head = ["", "HELD" if has_others else "PODS", "SINCE", "CAUSE", "BEST CHANGE TRIED", "PLACES"]
    rows = [head]
    for number, (group, age) in enumerate(zip(groups, ages, strict=True), 1):
        held = _held(group) if has_others else [f"{len(group.pods):,}"]
        best = group.changes[0] if group.changes else None
        change, places = _best(group, best)
        rows.append([str(number), held[0], age, _short(paper, group), change, places])
        rows += [["", each, "", "", "", ""] for each in held[1:]]
    if not any(ages):
        rows = [[*row[:2], *row[3:]] for row in rows]
    paper.table(rows, numbers=(len(rows[0]) - 1,))


def _best(group: Group, change: Change | None) -> tuple[str, str]:
    if change is None:
        return "· none", "-"
    text = _short_change(group, change)
    return f"{sign_of(change)} {text}", places_of(change)


def _short_change(group: Group, change: Change) -> str:
    """A change for the table: without its reasons, and with "it" for what causes the whole."""
    if change.kind == "toleration" and group.by.startswith("taint"):
        return "tolerate it"
    text = words_of(change).partition(", ")[0]
    kind, _, key = group.by.partition(" ")
    for name in (key, key.rpartition("/")[2]):
        named = re.compile(
            rf"\b(?:the )?{re.escape(kind)} {re.escape(name)}(?![\w/.-])", re.IGNORECASE
        )
        text = named.sub("it", text) if name else text
    return text


def _short(paper: Paper, group: Group) -> str:
    """The cause in a few words: with its number where something is measured."""
    closest = next((each for each in group.nodes_by_reason if each.is_closest), None)
    if closest is None:
        return group.short or group.by
    if closest.check is not None and closest.check.short:
        one = "1 node" if closest.count == 1 else ""
        return f"{closest.reason} on {one or _each_of(closest, is_short=paper.is_narrow)}"
    if re.fullmatch(r"taint \S+", closest.reason) and group.by.startswith("taint"):
        return closest.reason if paper.is_narrow else f"{closest.reason} is not tolerated"
    return group.short or group.by


def _each_of(found: NodesByReason, *, is_short: bool) -> str:
    """All nodes of a reason: "each of 6 general nodes", where their names begin alike."""
    if is_short:
        return f"{found.count:,} nodes"
    first = {name.partition("-")[0] for name in found.nodes} - {"node"}
    kind = f"{first.pop()} " if len(first) == 1 and "-" in found.nodes[0] else ""
    return f"each of {found.count:,} {kind}nodes"


def _held_others(group: Group) -> bool:
    return bool(group.pods_missing or group.claims or _nodes_of(group)) or not group.pods


def _nodes_of(group: Group) -> tuple[str, ...]:
    """The nodes that are stuck themselves; those of pods that wait are their cause."""
    return () if group.kind == "pending" else group.nodes


def _held(group: Group) -> list[str]:
    parts = [counted(len(group.pods), "pod")] if group.pods else []
    parts += [f"{group.pods_missing:,} not made"] if group.pods_missing else []
    parts += [counted(len(group.claims), "claim")] if group.claims else []
    parts += [counted(len(_nodes_of(group)), "node")] if _nodes_of(group) else []
    return parts or [counted(max(len(group.objects), len(group.namespaces), 1), "object")]


def _age(triaged: Triaged, group: Group) -> str:
    seconds = triaged.evidence.age_seconds(group.since) if group.since else 0
    return human_duration(seconds) if seconds else ""


def _write_together(paper: Paper, triaged: Triaged) -> None:
    together = triaged.found.together
    if together is None:
        return
    groups = triaged.found.groups
    numbers = [str(place + 1) for place, *_ in together.changes]
    is_all = len(numbers) == len(groups)
    who = _all_of(len(numbers)) if is_all else f"Causes {several(numbers)} together"
    text = f"{who}: {together.places} of {together.of} placed."
    if together.places == together.of:
        text += " No running pod is moved, no data is lost."
    paper.line()
    paper.paragraph(f"{text} {together.note}".rstrip())


def _all_of(count: int) -> str:
    words = {2: "Both together", 3: "All three together", 4: "All four together"}
    return words.get(count, f"All {count} together")


# -- the cards ---------------------------------------------------------------------------------------


class _Card:
    """One cause: who is held, by which nodes, what was observed and simulated, what was tried."""

    def __init__(self, paper: Paper, triaged: Triaged, group: Group) -> None:
        self._paper, self._triaged, self._group = paper, triaged, group

    def write(self, number: int) -> None:
        """All of it."""
        self._paper.paragraph(self._group.cause, first=f"{number:<3}", style="bold")
        self._labelled("held", "; ".join(self._held()), whole=self._held_whole())
        self._nodes()
        self._because()
        self._observed()
        self._simulated()
        self._assumed()
        self._tried()
        self._next()

    def _labelled(self, label: str, text: str, *, whole: Sequence[str] | None = None) -> None:
        lines = whole if whole is not None and self._triaged.is_wide else [text]
        for place, line in enumerate(lines):
            if line:
                self._paper.paragraph(line, first=_LABEL.format("" if place else label))

    def _held(self) -> Iterator[str]:
        group = self._group
        counted_ones = [
            each for each in group.workload_counts if not each.workload.startswith("pod/")
        ]
        if counted_ones:
            yield ", ".join(
                f"{each.workload.replace('/', ' ', 1)} ({each.waiting} of {each.of})"
                for each in counted_ones[:_MOST_OF_LIST]
            )
        elif group.pods:
            yield folded(group.pods, counts=True)
        parts = (("claims", group.claims), ("nodes", _nodes_of(group)), ("", group.objects))
        for what, keys in parts:
            if keys:
                yield f"{what} {folded(keys)}".strip()

    def _held_whole(self) -> list[str]:
        group = self._group
        nodes = _nodes_of(group)
        return [*group.pods, *group.claims, *nodes, *group.objects, *group.namespaces]

    def _nodes(self) -> None:
        rows = _looked_at_nodes(self._group)
        width = max((len(f"{each.count:,}") for each in rows), default=1) + 2
        for place, each in enumerate(rows):
            label = _LABEL.format("" if place else "nodes")
            reason = each.reason + (f": {_detail(each)}" if _detail(each) else "")
            names = ", ".join(each.nodes) if self._triaged.is_wide else folded(each.nodes)
            more = each.count - len(each.nodes)
            names += f" and {more:,} more" if more else ""
            style = "bold" if each.is_closest else ""
            self._node_row(f"{label}{each.count:<{max(width, 3)},}", reason, names, style)

    def _node_row(self, first: str, reason: str, names: str, style: str) -> None:
        text = f"{reason.ljust(_REASON_WIDTH)}  {names}"
        under = " " * len(first)
        if len(first) + len(text) <= self._paper.width and not self._paper.is_narrow:
            self._paper.line(first + text, style)
            return
        self._paper.paragraph(reason, first=first, style=style)
        self._paper.paragraph(names, first=under, style=style)

    def _because(self) -> None:
        """How it came about, where no table of nodes says so."""
        lines = list(self._group.because)
        if not _looked_at_nodes(self._group) or self._triaged.is_wide:
            self._labelled("cause", " ".join(lines[:3]), whole=lines)

    def _observed(self) -> None:
        sign = sign_of_group(self._triaged.evidence, self._group)
        where = "was seen" if self._triaged.source.collection else "is in the files"
        text = self._group.observed or f"nothing about it {where}"
        self._labelled(f"observed {sign}", text)

    def _simulated(self) -> None:
        message, count = shared_message(self._triaged.messages, self._group.pods)
        if not message:
            self._labelled("simulated", self._group.predicted)
            return
        message = message if self._triaged.is_wide else without_preemption(message)
        pods = len(self._group.pods)
        who = f"all {pods} pods" if count == pods else f"{count} of {pods} pods"
        self._labelled("simulated", f"{message} ({who})" if pods > 1 else message)

    def _assumed(self) -> None:
        """The placeholders that the cause rests on."""
        for place, sentence in enumerate(self._group.assumed):
            self._paper.paragraph(sentence, first=_LABEL.format("" if place else "assumed"))

    def _tried(self) -> None:
        lines = [_tried_line(each) for each in self._group.changes]
        if not lines:
            lines = [f"· {first_small(self._group.conclusion or 'no change was tried')}"]
        for place, line in enumerate(lines):
            first = _LABEL.format("" if place else "tried")
            rest = " " * len(first) + ("  " if line[1:2] == " " else "")
            self._paper.paragraph(line, first=first, rest=rest)

    def _next(self) -> None:
        for place, line in enumerate(_next_lines(self._triaged, self._group)):
            self._paper.line(_LABEL.format("" if place else "next") + line)


def _looked_at_nodes(group: Group) -> tuple[NodesByReason, ...]:
    """The nodes by why they refuse; none where no scheduler has looked at any."""
    found = group.nodes_by_reason
    return found if any(each.is_closest for each in found) else ()


def _tried_line(change: Change) -> str:
    if change.loses:
        return f"loses data: {told(change)} Lost: {change.loses}."
    if change.shared:
        return f"touches a shared policy: {told(change)} {change.shared[:1].upper()}{change.shared[1:]}."
    return f"{sign_of(change)} {told(change)}"


def _detail(found: NodesByReason) -> str:
    check = found.check
    if check is None or check.allocatable is None or check.free is None:
        return found.detail
    used = format_amount(check.unit, check.allocatable - check.free)
    whole = format_amount(check.unit, check.allocatable)
    return f"{used} of {whole} requested" + (" on each" if found.count > 1 else "")


def _next_lines(triaged: Triaged, group: Group) -> Iterator[str]:
    """What to type: the best change again where a flag carries it out, then one of what is held."""
    files = triaged.source.words
    best = group.changes[0] if group.changes else None
    nodes = more_nodes(best) if best is not None else ""
    if nodes and not triaged.source.has_stdin:
        yield f"kscope triage {files} --nodes {nodes}"
    first = _first_object(group)
    if first:
        yield f"kscope why {files} {first}"


def _first_object(group: Group) -> str:
    decided = next((each.pod for each in group.nodes_by_reason if each.pod), "")
    if decided:
        return object_words("pod", decided)
    for part, word in (("pods", "pod"), ("claims", "pvc"), ("nodes", "node")):
        keys: tuple[str, ...] = getattr(group, part)
        if keys:
            return object_words(word, keys[0])
    if group.workloads:
        kind, namespace, name = f"{group.workloads[0]}//".split("/")[:3]
        return f"{kind}/{name} -n {namespace}" if name else f"{kind}/{namespace}"
    return ""


def object_words(word: str, key: str) -> str:
    """How an object is typed: "pod/web-3 -n shop"."""
    namespace, _, name = key.rpartition("/")
    return f"{word}/{name}" + (f" -n {namespace}" if namespace else "")


def _write_more(paper: Paper, groups: tuple[Group, ...]) -> None:
    if groups:
        pods = sum(len(each.pods) for each in groups)
        paper.line()
        paper.paragraph(
            f"and {counted(len(groups), 'more cause')} hold {counted(pods, 'pod')}; -o json has all"
        )


# -- what could not be seen ----------------------------------------------------------------------------


def _write_unseen(paper: Paper, triaged: Triaged) -> None:
    sight = triaged.sight
    if sight.is_whole:
        return
    rows = [[each.resource, each.tells] for each in sight.missing]
    rows += [[f"{each.resource} of other namespaces", each.tells] for each in sight.narrowed]
    paper.line()
    paper.table([["COULD NOT SEE", "WOULD TELL"], *rows])
    for place, line in enumerate(sight.read_commands):
        if not place:
            paper.line()
        paper.line(f"{'' if place else 'next':<11}{line}")


# -- nothing is stuck --------------------------------------------------------------------------------


def _write_nothing(paper: Paper, triaged: Triaged) -> None:
    files, evidence = triaged.source.words, triaged.evidence
    # Without nodes nothing can be called well.
    open_question = triaged.found.unanswerable or _not_all_seen(triaged)
    style = "bold yellow" if open_question else "bold green"
    paper.paragraph(open_question or "Nothing is stuck.", style=style)
    paper.line(where_it_stands(triaged), "dim")
    paper.line()
    paper.table([["LOOKED AT", "FOUND"], *_looked_at(triaged)])
    paper.line()
    paper.paragraph(_OUTSIDE)
    is_live = triaged.source.collection is not None
    if not evidence.has_events and not is_live:
        paper.paragraph("Not in the file: Events. What the kubelets reported last is not known.")
    _write_unseen(paper, triaged)
    paper.line()
    lines = [f"kscope diff --profile v1.34 --profile v1.36 {files}"]
    if is_live:
        lines = [f"kscope collect --context {triaged.source.collection_context} cluster.tar.gz"]
    elif not evidence.has_events:
        lines.insert(
            0, f"kubectl get events -A -o yaml > events.yaml; kscope triage {files} events.yaml"
        )
    for place, line in enumerate(lines):
        paper.line(f"{'' if place else 'next':<11}{line}")


def _not_all_seen(triaged: Triaged) -> str:
    if triaged.sight.is_whole:
        return ""
    return "Nothing that could be seen is stuck, and not everything could be seen."


def _looked_at(triaged: Triaged) -> Iterator[list[str]]:
    for each in triaged.found.looked_for:
        of_pods = each.what == "Pods"
        yield [each.what.lower(), _pods_found(triaged) if of_pods else _told(each.found)]
    counts = triaged.evidence.counts
    kinds = {
        "claims and volumes": ("PersistentVolumeClaim", "PersistentVolume"),
        "workloads, quotas, budgets": (
            "Deployment",
            "StatefulSet",
            "ResourceQuota",
            "PodDisruptionBudget",
        ),
        "attachments and mounts": ("VolumeAttachment",),
    }
    for what, names in kinds.items():
        if not any(counts.get(name) for name in names):
            yield [what, "none" if triaged.source.collection else "none in the file"]


def _pods_found(triaged: Triaged) -> str:
    """How many pods run, wait and end: "34 run, 0 wait, 0 end"."""
    pods = triaged.evidence.pods_under_way
    ending = sum(bool(each["metadata"].get("deletionTimestamp")) for each in pods)
    running = sum(section(each, "status").get("phase") == "Running" for each in pods)
    return f"{running:,} run, {len(pods) - running:,} wait, {ending:,} end"


def _told(found: str) -> str:
    """What was found, as short as in a table: "10 of 10 ready"."""
    return found.replace(" are ", " ")
