import {healthIs} from "./health.js";
import {duration, moment} from "../shared/format.js";
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
  const times = failures === 1 ? "once" : `${failures} times`;
  const then = started === undefined ? `next try at ${moment(again)} s` : `tried again since ${moment(started)} s`;
  return `${callOf(trouble)} of ${name} failed ${times}, ${then}`;
}

/** What an object's `trouble` is called, by the reason of its Events. */
const TROUBLES = {
  ProvisioningFailed: "provisioning",
  VolumeFailedDelete: "deletion",
  VolumeFailedRecycle: "recycling",
  VolumeResizeFailed: "expansion",
  VolumeModifyFailed: "modification",
  FailedCreate: "creation of its pods",
  FailedPrepareDynamicResources: "preparation of its devices",
  // Of these only the files of a cluster tell: in a run, the node of the pod shows what fails of its volumes.
  FailedAttachVolume: "attachment of a volume",
  FailedMount: "mount of a volume",
  FailedMapVolume: "mapping of a volume",
  FailedCreatePodSandBox: "creation of its sandbox",
  FailedPostStartHook: "postStart hook",
  InspectFailed: "inspection of an image",
  ErrImageNeverPull: "look for an image",
  BackOff: "start of a container",
  Failed: "start of a container",
};

/** The health of an object of which an operation fails and is tried again; null where none does. */
export function troubleHealth({trouble}) {
  if (!trouble) return null;
  const {failures, started, retry_at: again, failed, error} = trouble;
  const times = failures === 1 ? "once" : `${failures} times`;
  // What the files tell of a cluster was before its run began.
  const last = failed < 0 ? `last ${duration(-failed)} before the start` : `last at ${moment(failed)} s`;
  const tried = started === undefined ? last : `tried again since ${moment(started)} s`;
  const next = again === undefined ? tried : `next try at ${moment(again)} s`;
  const words = `${TROUBLES[trouble.name] ?? trouble.name} failed ${times}, ${next}`;
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
