import {gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {healthIs, opensWithName} from "./health.js";
import {duration, timeText} from "../shared/format.js";
import {callOf, isRefused, shortError, volumesOf} from "./node_volumes.js";

const known = new WeakMap();

/**
 * What the pods of a node wait for before their containers can start, by their keys: {name, step, trouble, refused}.
 * `step` is "attach" or "mount", `trouble` the operation that failed for this pod, or null; a volume that failed
 * comes before others. It is worked out once for each state of the node.
 */
export function awaitedOn(node) {
  if (!node?.volumes && !node?.attachments) return new Map();
  if (!known.has(node)) known.set(node, awaitedIn(volumesOf(node)));
  return known.get(node);
}

function awaitedIn(rows) {
  const found = new Map();
  for (const row of rows) {
    // A volume that the kubelet does not know yet is waited for until it is attached.
    const pods = row.kubelet ? row.waiting : row.controller.attached ? [] : row.desired;
    for (const [pod] of pods) {
      const awaited = awaitedBy(pod, row);
      const earlier = found.get(pod);
      if (!earlier || rank(awaited) < rank(earlier)) found.set(pod, awaited);
    }
  }
  return found;
}

function awaitedBy(pod, {name, kubelet, controller, attachable, operations}) {
  const trouble = operations.find((each) => each.failures > 0 && (each.pod === "*" || each.pod === pod)) ?? null;
  const step = attachable && !kubelet?.attached ? "attach" : "mount";
  return {name, step, trouble, refused: isRefused(controller)};
}

const rank = ({trouble, refused}) => (trouble ? 0 : refused ? 1 : 2);

/** "MountDevice of disk-1 failed 4 times, next try at 10.100 s": what fails, how often, and when it is tried again. */
export function failureWords(name, trouble) {
  const {failures, started, retry_at: again} = trouble;
  const call = callOf(trouble);
  if (started === undefined)
    return ngettext(
      "{call} of {name} failed once, next try at {time}",
      "{call} of {name} failed {count} times, next try at {time}",
      failures,
      {call, name, time: timeText(again)},
    );
  return ngettext(
    "{call} of {name} failed once, tried again since {time}",
    "{call} of {name} failed {count} times, tried again since {time}",
    failures,
    {call, name, time: timeText(started)},
  );
}

/** What is said of an object's `trouble`, by the reason of its Events. */
const TROUBLES = {
  WriteRefused: (times) =>
    ngettext("write of the PV controller failed once", "write of the PV controller failed {count} times", times),
  ProvisioningFailed: (times) => ngettext("provisioning failed once", "provisioning failed {count} times", times),
  VolumeFailedDelete: (times) => ngettext("deletion failed once", "deletion failed {count} times", times),
  VolumeFailedRecycle: (times) => ngettext("recycling failed once", "recycling failed {count} times", times),
  VolumeResizeFailed: (times) => ngettext("expansion failed once", "expansion failed {count} times", times),
  VolumeModifyFailed: (times) => ngettext("modification failed once", "modification failed {count} times", times),
  FailedCreate: (times) =>
    ngettext("creation of its pods failed once", "creation of its pods failed {count} times", times),
  FailedPrepareDynamicResources: (times) =>
    ngettext("preparation of its devices failed once", "preparation of its devices failed {count} times", times),
  // Of these only the files of a cluster tell: in a run, the node of the pod shows what fails of its volumes.
  FailedAttachVolume: (times) =>
    ngettext("attachment of a volume failed once", "attachment of a volume failed {count} times", times),
  FailedMount: (times) => ngettext("mount of a volume failed once", "mount of a volume failed {count} times", times),
  FailedMapVolume: (times) =>
    ngettext("mapping of a volume failed once", "mapping of a volume failed {count} times", times),
  FailedCreatePodSandBox: (times) =>
    ngettext("creation of its sandbox failed once", "creation of its sandbox failed {count} times", times),
  FailedPostStartHook: (times) => ngettext("postStart hook failed once", "postStart hook failed {count} times", times),
  InspectFailed: (times) =>
    ngettext("inspection of an image failed once", "inspection of an image failed {count} times", times),
  ErrImageNeverPull: (times) =>
    ngettext("look for an image failed once", "look for an image failed {count} times", times),
  BackOff: (times) => ngettext("start of a container failed once", "start of a container failed {count} times", times),
  Failed: (times) => ngettext("start of a container failed once", "start of a container failed {count} times", times),
};

function troubleWords(name, failures) {
  const wordsOf = TROUBLES[name];
  return wordsOf ? wordsOf(failures) : ngettext("{name} failed once", "{name} failed {count} times", failures, {name});
}

/** The health of an object of which an operation fails and is tried again; null where none does. */
export function troubleHealth({trouble}) {
  if (!trouble) return null;
  const {failures, started, retry_at: again, failed, error} = trouble;
  // What the files tell of a cluster was before its run began.
  const last =
    failed < 0
      ? gettext("last {time} before the start", {time: duration(-failed)})
      : gettext("last at {time}", {time: timeText(failed)});
  const tried = started === undefined ? last : gettext("tried again since {time}", {time: timeText(started)});
  const next = again === undefined ? tried : gettext("next try at {time}", {time: timeText(again)});
  const words = listText([troubleWords(trouble.name, failures), next]);
  const health = healthIs("failing", "failing", ["backoff", "stuck", words], labelled(words, error));
  return trouble.name in TROUBLES ? health : opensWithName(health);
}

/** The same, with what the driver said. */
export function failureSentence(name, trouble) {
  return labelled(failureWords(name, trouble), shortError(trouble.error));
}

const failing = new WeakMap();

/** The volumes of a node with an operation that failed. */
export function rowsInTrouble(node) {
  if (!node?.volumes && !node?.attachments) return [];
  if (!failing.has(node))
    failing.set(
      node,
      volumesOf(node).filter(({trouble}) => trouble),
    );
  return failing.get(node);
}
