import {gettext, ngettext} from "../../lib/words.js";
import {healthIs} from "./health.js";
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
  const times = ngettext("once", "{count} times", failures);
  const then =
    started === undefined
      ? gettext("next try at {again}", {again: timeText(again)})
      : gettext("tried again since {started}", {started: timeText(started)});
  return gettext("{call} of {name} failed {times}, {then}", {call: callOf(trouble), name, times, then});
}

/** What an object's `trouble` is called, by the reason of its Events. */
const TROUBLES = {
  ProvisioningFailed: "provisioning",
  VolumeFailedDelete: "deletion",
  VolumeFailedRecycle: "recycling",
  VolumeResizeFailed: "expansion",
  VolumeModifyFailed: "modification",
  FailedCreate: gettext("creation of its pods"),
  FailedPrepareDynamicResources: gettext("preparation of its devices"),
  // Of these only the files of a cluster tell: in a run, the node of the pod shows what fails of its volumes.
  FailedAttachVolume: gettext("attachment of a volume"),
  FailedMount: gettext("mount of a volume"),
  FailedMapVolume: gettext("mapping of a volume"),
  FailedCreatePodSandBox: gettext("creation of its sandbox"),
  FailedPostStartHook: gettext("postStart hook"),
  InspectFailed: gettext("inspection of an image"),
  ErrImageNeverPull: gettext("look for an image"),
  BackOff: gettext("start of a container"),
  Failed: gettext("start of a container"),
};

/** The health of an object of which an operation fails and is tried again; null where none does. */
export function troubleHealth({trouble}) {
  if (!trouble) return null;
  const {failures, started, retry_at: again, failed, error} = trouble;
  const times = ngettext("once", "{count} times", failures);
  // What the files tell of a cluster was before its run began.
  const last =
    failed < 0
      ? gettext("last {failed} before the start", {failed: duration(-failed)})
      : gettext("last at {failed}", {failed: timeText(failed)});
  const tried = started === undefined ? last : gettext("tried again since {started}", {started: timeText(started)});
  const next = again === undefined ? tried : gettext("next try at {again}", {again: timeText(again)});
  const words = gettext("{value} failed {times}, {next}", {value: TROUBLES[trouble.name] ?? trouble.name, times, next});
  return healthIs("failing", "failing", ["backoff", "stuck", words], `${words}: ${error}`);
}

/** The same, with what the driver said. */
export function failureSentence(name, trouble) {
  return `${failureWords(name, trouble)}: ${shortError(trouble.error)}`;
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
