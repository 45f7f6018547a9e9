import {gettext, ngettext} from "../../lib/words.js";
import {byName, duration, timeText} from "../shared/format.js";

/** Operations by the engine's name: title, verb, mark and family. */
const OPERATIONS = {
  volume_attach: {
    title: gettext("Attach"),
    doing: gettext("attaching"),
    during: (time) => gettext("attaching {time}", {time}),
    mark: "attach",
    family: "ready",
  },
  volume_detach: {
    title: gettext("Detach"),
    doing: gettext("detaching"),
    during: (time) => gettext("detaching {time}", {time}),
    mark: "detach",
    family: "held",
  },
  verify_controller_attached_volume: {
    title: gettext("Verify attachment"),
    doing: gettext("waits for attach"),
    during: (time) => gettext("waits for attach {time}", {time}),
    mark: "attach",
    family: "ready",
  },
  volume_mount: {
    title: gettext("Mount"),
    doing: gettext("mounting"),
    during: (time) => gettext("mounting {time}", {time}),
    mark: "mount",
    family: "working",
  },
  map_volume: {
    title: gettext("Map"),
    doing: gettext("mapping"),
    during: (time) => gettext("mapping {time}", {time}),
    mark: "mount",
    family: "working",
  },
  volume_fs_resize: {
    title: gettext("Resize"),
    doing: gettext("resizing"),
    during: (time) => gettext("resizing {time}", {time}),
    mark: "mount",
    family: "working",
  },
  volume_unmount: {
    title: gettext("Unmount"),
    doing: gettext("unmounting"),
    during: (time) => gettext("unmounting {time}", {time}),
    mark: "unmount",
    family: "held",
  },
  unmount_device: {
    title: gettext("Unmount device"),
    doing: gettext("unmounting"),
    during: (time) => gettext("unmounting {time}", {time}),
    mark: "unmount",
    family: "held",
  },
};

/** The next step where nothing is to be done. */
export const NOTHING = gettext("nothing");
const VERIFY = "verify_controller_attached_volume";
const FALLBACK = {
  title: gettext("Operation"),
  doing: gettext("running"),
  during: (time) => gettext("running {time}", {time}),
  mark: "in-flight",
  family: "working",
};

/** Title, verb, mark and family of an operation. */
export function operationLook({name}) {
  return OPERATIONS[name] ?? {...FALLBACK, title: name};
}

/**
 * The volumes of a node as the kubelet and the attach/detach controller see them: rows {unique, name,
 * plugin, kubelet, controller, ...}, those with differences first, then by name.
 *
 * The controller attaches the volumes that a pod names; the kubelet mounts those that a container mounts. A
 * row without `kubelet` is only attached. `waiting` are the pods, [pod, since], whose containers cannot
 * start before the volume is mounted; `pods` maps ids to pods and shows which of them already run.
 */
export function volumesOf(node, pods = new Map()) {
  const names = new Set([...Object.keys(node?.volumes ?? {}), ...Object.keys(node?.attachments ?? {})]);
  const rows = [...names].map((unique) => volumeRow(unique, node, pods));
  return rows.sort(
    (a, b) => Number(a.sign === "=") - Number(b.sign === "=") || byName(a.name, b.name) || byName(a.unique, b.unique),
  );
}

function volumeRow(unique, node, pods) {
  const row = namedRow(unique, node);
  const started = row.desired.filter(([pod]) => hasStarted(pods.get(`pod/${pod}`)));
  const waiting = row.kubelet ? row.desired.filter((each) => !isMounted(row, each[0]) && !started.includes(each)) : [];
  const trouble = row.operations.find(({failures}) => failures > 0) ?? null;
  const known = {...row, started, waiting, trouble};
  const signed = {...known, sign: signOf(known)};
  return {...signed, family: familyOf(signed)};
}

/** What kubelet and controller say of a volume, before anything is derived from it. */
function namedRow(unique, node) {
  const kubelet = node.volumes?.[unique] ?? null;
  const controller = node.attachments?.[unique] ?? null;
  return {
    unique,
    kubelet,
    controller,
    // A history without its beginning does not name it.
    name: kubelet?.name ?? controller?.name ?? unique,
    plugin: pluginOf(unique),
    desired: desiredBy(kubelet, controller),
    mounts: Object.entries(kubelet?.mounts ?? {}).sort(([a], [b]) => byName(a, b)),
    attachable: Boolean(kubelet?.attachable ?? controller),
    operations: operationsOf(kubelet, controller),
    reported: (node.volumes_attached ?? []).includes(unique),
  };
}

/** "kubernetes.io/csi/disk.csi.example.com^disk-1" → "csi". */
function pluginOf(unique) {
  const [, plugin] = unique.split("/", 2);
  return plugin ?? unique;
}

/** The pods that need the volume, [pod, since], oldest first; according to the kubelet if it knows the volume. */
function desiredBy(kubelet, controller) {
  return Object.entries((kubelet ?? controller).desired ?? {}).sort(
    ([a, since], [b, later]) => since - later || byName(a, b),
  );
}

/** Operations that run or back off, those of the kubelet first, those that wait for an attach last. */
function operationsOf(kubelet, controller) {
  const found = Object.entries(kubelet?.operations ?? {}).map(([pod, operation]) => ({
    ...operation,
    pod,
    by: "kubelet",
  }));
  if (controller?.operation) found.push({...controller.operation, pod: "*", by: "attach-detach"});
  return found.sort(
    (a, b) => Number(a.name === VERIFY) - Number(b.name === VERIFY) || (b.failures ?? 0) - (a.failures ?? 0),
  );
}

/** Whether the volume is certainly mounted for the pod. */
function isMounted(row, pod) {
  return row.kubelet?.mounts?.[pod] === "VolumeMounted";
}

function hasStarted(pod) {
  return pod?.phase === "Running" || pod?.phase === "Succeeded" || pod?.phase === "Failed";
}

function signOf(row) {
  if (row.desired.length === 0) return "−";
  if (!row.kubelet) return row.controller.attached ? "=" : "+";
  const equal = row.desired.every(([pod]) => isMounted(row, pod)) && row.mounts.length === row.desired.length;
  if (equal) return "=";
  return row.desired.some(([pod]) => !isMounted(row, pod)) ? "+" : "−";
}

function familyOf({sign, trouble, controller}) {
  if (trouble || isRefused(controller)) return "stuck";
  if (sign === "=") return "settled";
  return sign === "+" ? "ready" : "clock";
}

/** Whether the controller does not attach it here because another node has it attached. */
export function isRefused(controller) {
  return Boolean(controller?.multi_attach_error_reported && !controller.attached && !controller.operation);
}

/** The cell of the column Attached: [mark, family, words]; the mark is null for an empty state. */
export function attachedState(row, at) {
  const {controller, kubelet} = row;
  const own = row.operations.find(({name}) => name === "volume_attach" || name === "volume_detach");
  if (own) return runningState(own, at);
  if (controller?.attached) return ["ok", "settled", gettext("attached")];
  if (controller?.uncertain) return ["in-flight", "clock", gettext("uncertain")];
  if (!row.attachable) return [null, "", gettext("not attachable")];
  if (isRefused(controller)) return ["no", "stuck", gettext("rejected: attached to another node")];
  if (kubelet?.attached) return ["ok", "settled", gettext("attached")];
  return [null, "", gettext("no")];
}

/** The cell of the column Device. */
export function deviceState(row, at) {
  const {kubelet} = row;
  const own = row.operations.find(({name}) => name === "unmount_device");
  if (own) return runningState(own, at);
  const mount = row.operations.find(({name}) => name === "volume_mount" || name === "map_volume");
  if (kubelet?.device === "DeviceGloballyMounted") return ["ok", "settled", gettext("mounted")];
  if (mount && (kubelet?.device_mountable || mount.failures)) return runningState(mount, at);
  if (kubelet?.device === "DeviceMountUncertain") return ["in-flight", "clock", gettext("uncertain")];
  return [null, "", kubelet && !kubelet.device_mountable && kubelet.desired ? gettext("no device") : gettext("no")];
}

/** The cell of the column Mounted for: [mark, family, words, pod] for each pod, and for a running mount. */
export function mountStates(row, at) {
  const found = row.mounts.map(([pod, state]) => {
    const own = row.operations.find(({name, pod: whose}) => name === "volume_unmount" && whose === pod);
    if (own) return [...runningState(own, at), pod];
    return state === "VolumeMounted" ? ["ok", "settled", "", pod] : ["in-flight", "clock", gettext("uncertain,"), pod];
  });
  const mount = row.operations.find(({name}) => name === "volume_mount" || name === "map_volume");
  if (mount && row.kubelet?.device !== undefined) found.push([...runningState(mount, at), null]);
  else if (mount && !row.kubelet?.device_mountable) found.push([...runningState(mount, at), null]);
  return found.length > 0 ? found : [[null, "", gettext("no"), null]];
}

/** An operation as a state: "mounting 0.25 s", "4 failures". */
function runningState(operation, at) {
  const {mark, family, doing, during} = operationLook(operation);
  if (operation.started !== undefined) return [mark, family, during(duration(at - operation.started))];
  if (operation.failures) return ["backoff", "clock", failureWords(operation.failures)];
  return [mark, family, doing];
}

function failureWords(number) {
  return ngettext("{count} failure", "{count} failures", number);
}

/** The next step for a volume, in words. */
export function nextStep(row, at) {
  const {controller, kubelet, trouble} = row;
  if (trouble && trouble.retry_at !== undefined)
    return gettext("{call} again at {time}", {call: callOf(trouble), time: timeText(trouble.retry_at)});
  const running = row.operations.find(({started}) => started !== undefined);
  if (row.desired.length === 0) return endOf(row, running, at);
  if (isRefused(controller)) return gettext("waits for the other node to detach it");
  if (running) return afterOf(running, row);
  if (!kubelet && controller.attached && row.started.length === row.desired.length)
    return gettext("nothing: no container mounts it");
  if (row.sign === "=" && kubelet) return NOTHING;
  if (kubelet && !kubelet.attached && row.attachable) return waitOf(row);
  if (!kubelet) return controller?.attached ? gettext("waits for the kubelet") : gettext("attach");
  return row.sign === "+" ? gettext("mount") : gettext("unmount");
}

/** What a mount waits for. */
function waitOf({kubelet, controller, reported}) {
  if (!kubelet.in_use) return gettext("waits until the node's volumesInUse lists it");
  if (reported) return gettext("verifies the attachment, then mounts");
  return controller?.attached ? gettext("waits until volumesAttached lists it") : gettext("waits for attach");
}

function afterOf({name}, row) {
  if (name === "volume_attach") return gettext("waits for attach");
  if (name === "volume_detach") return gettext("waits for detach, then attach");
  if (name === "volume_unmount" || name === "unmount_device")
    return row.sign === "+" ? gettext("then mount") : gettext("nothing after this");
  return gettext("nothing after this");
}

/** The next step towards detaching a volume that no pod needs. */
function endOf({kubelet, controller, mounts}, running, at) {
  if (running?.name === "volume_detach") return gettext("nothing after this");
  if (running?.name === "volume_unmount" && kubelet?.device) return gettext("then unmount the device");
  if (running) return controller ? gettext("then detach") : gettext("nothing after this");
  if (mounts.length > 0) return gettext("unmount");
  if (kubelet?.device) return gettext("unmount the device");
  if (controller?.deadline !== undefined && controller.mounted_by_node) {
    return gettext("waits for volumesInUse; force-detach in {deadline}", {
      deadline: duration(controller.deadline - at),
    });
  }
  return controller ? gettext("detach") : NOTHING;
}

/** The call that failed, such as "MountDevice" or "SetUp", else the title of the operation. */
export function callOf(operation) {
  const [, call] =
    /^\w+Volume\.(\w+) failed/.exec(operation.error ?? "") ??
    /^(UnmountDevice) failed/.exec(operation.error ?? "") ??
    [];
  return call ?? operationLook(operation).title;
}

/** The driver's own message: an error without the volume, the pod and the callers, which the page shows elsewhere. */
export function shortError(error) {
  const said = (error ?? "").split(" : ").at(-1);
  return said.split(" desc = ").at(-1);
}
