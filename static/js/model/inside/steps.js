import {gettext} from "../../lib/words.js";

/**
 * The steps of what looks after volumes, as the server tells them; see docs/inside.md. A step is an address:
 * `step=41.1` names the first of those that ended after event 41.
 */

/** The bands of the list, by the part of a step. */
const BANDS = {
  pv: {key: "binding", title: gettext("binding")},
  scheduler: {key: "binding", title: gettext("binding")},
  provisioner: {key: "binding", title: gettext("binding")},
  attach: {key: "node", title: gettext("attach and mount")},
  kubelet: {key: "node", title: gettext("attach and mount")},
};

/** Who does a step, by its part. */
const WHO = {
  pv: gettext("PV controller"),
  scheduler: "scheduler",
  provisioner: gettext("external provisioner"),
  attach: gettext("attach/detach controller"),
  kubelet: "kubelet",
};

/** In which folder of Kubernetes the code of a part is. */
const HOMES = {
  pv: "pkg/controller/volume",
  scheduler: "pkg/scheduler",
  provisioner: "external-provisioner",
  attach: "pkg/controller/volume/attachdetach",
  kubelet: "pkg/kubelet/volumemanager",
};

/** The component of a step, with its node: "kubelet node-1". */
export function whoOf({part, entity}) {
  return part === "kubelet" ? `${WHO.kubelet} ${nameOf(entity)}` : WHO[part];
}

export function homeOf({part}) {
  return HOMES[part];
}

/** "node/node-1" → "node-1", "claim/shop/data" → "shop/data". */
export function nameOf(entity) {
  return entity.slice(entity.indexOf("/") + 1);
}

/** The unique name of a volume without its plugin and driver. */
export function shortName(unique) {
  return unique.split(/[\^/]/).at(-1) ?? unique;
}

/**
 * The place in `steps` of the one that is shown: the one that the address names, unless another event is shown, else
 * the newest up to event `seq`. -1 without any.
 */
export function placeOf(steps, named, seq) {
  const chosen = steps.findIndex(({id}) => id === named);
  if (chosen >= 0 && (seq === null || steps[chosen].seq === seq)) return chosen;
  if (seq === null) return steps.length - 1;
  return steps.findLastIndex((step) => step.seq <= seq);
}

/**
 * The list of the steps with its bands: [{key, title, node, note, steps: [{step, place}]}]. Steps of one band that
 * follow one another stand together; another node begins a band of its own.
 */
export function bandsOf(steps) {
  const bands = [];
  for (const [place, step] of steps.entries()) {
    const {key, title} = BANDS[step.part];
    const node = key === "binding" ? "" : nameOf(step.entity);
    const last = bands.at(-1);
    if (last?.key === key && last.node === node) last.steps.push({step, place});
    else bands.push({key, title, node, steps: [{step, place}]});
  }
  return bands;
}

/** Four writes make a binding: the kind of event of each, the object, the field and its value. */
const WRITES = [
  {kinds: ["VolumePreBound", "VolumeProvisioned"], object: "volume", field: "spec.claimRef"},
  {kinds: ["VolumeBound", "VolumeProvisioned"], object: "volume", field: "status.phase"},
  {kinds: ["ClaimBindCompleted"], object: "claim", field: "spec.volumeName"},
  {kinds: ["ClaimBound"], object: "claim", field: "status.phase"},
];
const MADE = {kinds: ["VolumeProvisioned"], object: "volume", field: "created"};

/**
 * The writes of a binding up to the step at `place`: {object, field, value, status, step, version, error}. The status
 * is "done", "refused" or "missing"; `isNow` says that this step tried it, `step` is null for a write from before the
 * first step. A volume that was made for its claim has one row more.
 */
export function writesUpTo(steps, place, {claim, volume}) {
  const known = knownAt(steps, place);
  const before = known[`volume/${volume}`];
  const pair = {claim: known[`claim/${claim}`], volume: before};
  const made = steps.some(({writes}) => writes.some(({kind}) => kind === "VolumeProvisioned"));
  const values = {
    "spec.claimRef": claim,
    "status.phase": "Bound",
    "spec.volumeName": volume,
    created: volume,
  };
  return [...(made ? [MADE] : []), ...WRITES].map(({kinds, object, field}) => {
    const tried = lastWrite(steps.slice(0, place + 1), kinds, object);
    const holds = isWritten(field, pair[object], {claim, volume});
    const error = holds ? "" : (tried?.write.error ?? "");
    return {
      object,
      field,
      value: values[field],
      status: holds ? "done" : error ? "refused" : "missing",
      isNow: tried?.step === steps[place],
      step: holds && tried?.write.error ? null : (tried?.step ?? null),
      version: tried?.write.version ?? "",
      error,
    };
  });
}

function lastWrite(steps, kinds, object) {
  for (const step of [...steps].reverse()) {
    const write = step.writes.findLast(({kind, entity}) => kinds.includes(kind) && entity.startsWith(`${object}/`));
    if (write) return {step, write};
  }
  return null;
}

/** Whether the API server has the value of a field. */
function isWritten(field, known, {claim, volume}) {
  if (!known?.api_server) return false;
  if (field === "created") return true;
  if (field === "spec.claimRef") return known.names === claim;
  if (field === "spec.volumeName") return volume !== "" && known.names === volume;
  return known.phase === "Bound";
}

/** What was known of each object at the newest step up to `place` that tells it, by id. */
function knownAt(steps, place) {
  const told = steps.slice(0, place + 1).findLast(({known}) => known.length > 0);
  return Object.fromEntries((told?.known ?? []).map((each) => [each.entity, each]));
}

const MOST_COLUMNS = 7;
const ROWS = [
  ["api_server", gettext("API server")],
  ["informer", gettext("informer cache")],
  ["cache", gettext("PV controller")],
  ["assumed", gettext("assume cache")],
];

/**
 * Who knows which version of an object: {columns: [{step, isNow, isAhead}], rows: [{title, cells}]}; a cell is
 * {text, over, isStale}. A column is a step after which something differs from before, or the one at `place`.
 */
export function versionsOf(steps, place, entity) {
  const all = steps.flatMap((step, index) => {
    const known = step.known.find((each) => each.entity === entity);
    return known ? [{step, index, known}] : [];
  });
  const differ = all.filter(({known, index}, at) => at === 0 || index === place || !isSame(known, all[at - 1].known));
  const now = differ.findLastIndex(({index}) => index <= place);
  const first = Math.max(0, Math.min(now - MOST_COLUMNS + 2, differ.length - MOST_COLUMNS));
  const shown = differ.slice(first, first + MOST_COLUMNS);
  const columns = shown.map(({step, index}, at) => ({step, isNow: first + at === now, isAhead: index > place}));
  const rows = ROWS.map(([key, title]) => ({title, cells: shown.map(({known}) => cellOf(key, known))}));
  return {columns, rows};
}

function cellOf(key, known) {
  const over = key === "assumed" ? known.over : "";
  return {text: known[key] || "–", over, isStale: !over && known[key] !== "" && known[key] !== known.api_server};
}

function isSame(one, other) {
  return ROWS.every(([key]) => one[key] === other[key]) && one.over === other.over;
}

/** The memory beside a step, by whose it is: [[whose, [{what, before, after, isChanged}]]]. */
export function memoryOf({memory}) {
  const found = new Map();
  for (const each of memory) {
    const rows = found.get(each.whose) ?? [];
    rows.push({...each, isChanged: each.before !== each.after});
    found.set(each.whose, rows);
  }
  return [...found];
}
