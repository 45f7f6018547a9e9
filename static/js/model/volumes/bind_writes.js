import {gettext} from "../../lib/words.js";
import {hasLostVolume} from "./binding.js";
import {appendRow, newestRows, stepRow} from "./step_rows.js";

/** The four writes of a bind, in the order in which the PV controller makes them. */
const WRITES = [
  {key: "ref", name: gettext("PV write"), written: ({claimKey}) => `spec.claimRef = ${claimKey}`},
  {key: "volumePhase", name: gettext("PV status"), written: () => gettext("phase Bound")},
  {key: "name", name: gettext("PVC write"), written: ({volumeName}) => `spec.volumeName = ${volumeName}`},
  {key: "claimPhase", name: gettext("PVC status"), written: () => gettext("phase Bound")},
];

/** The writes of a bind as rows: those that were made or rejected, in order, then those still to come. */
export function writesOf(binding) {
  const rows = [];
  const seen = new Set();
  for (const event of binding.events) {
    for (const {key, row} of writesIn(event, binding)) {
      appendRow(rows, {...row, at: event.at, seq: event.seq, kind: event.kind});
      seen.add(key);
    }
  }
  if (!binding.claim || binding.state === "lost" || hasLostVolume(binding) || !binding.volumeId)
    return newestRows(rows);
  const done = doneWrites(binding);
  const rowsOf = (look, writes) => writes.map(({name, written}) => stepRow(look, name, written(binding)));
  // Writes of before the run have no event.
  const before = WRITES.filter(({key}) => done[key] && !seen.has(key));
  const todo = WRITES.filter(({key}) => !done[key]);
  return [...rowsOf("done", before), ...newestRows(rows), ...rowsOf("todo", todo)];
}

/** Which of the four writes the objects show, by key. */
export function doneWrites({claim, claimKey, volume, volumeName}) {
  return {
    ref: volume?.claim === claimKey,
    volumePhase: volume?.phase === "Bound",
    name: claim?.volume === volumeName,
    claimPhase: claim?.phase === "Bound",
  };
}

/** The writes that one event shows, as {key, row}; the key is "" for what failed. */
function writesIn(event, binding) {
  const {claimId, volumeId} = binding;
  const {kind, message, object, changes} = event;
  if (kind === "WriteRefused") {
    if (object === volumeId) return [failed(gettext("PV write"), message)];
    return object === claimId ? [failed(gettext("PVC write"), message)] : [];
  }
  const volume = volumeId ? changes?.[volumeId] : undefined;
  const claim = claimId ? changes?.[claimId] : undefined;
  return [...volumeWrites(volume, event, binding), ...claimWrites(claim, event, binding)];
}

/** What one event wrote to the volume; `patch` is its change of the volume, null for a deletion. */
function volumeWrites(patch, {kind, message, object}, {claimKey, volumeId, volumeName}) {
  const found = [];
  if (patch === null) found.push(failed(gettext("PV deleted"), gettext("{volumeName} was deleted", {volumeName})));
  else if (patch?.claim === null) found.push(failed(gettext("PV write"), message || gettext("spec.claimRef removed")));
  else if (patch?.claim !== undefined && patch.claim === claimKey)
    found.push(made("ref", `spec.claimRef = ${claimKey}`));
  else if (kind === "VolumePreBound" && object === volumeId)
    found.push(made("ref", gettext("spec.claimRef with the claim's uid")));
  if (patch?.phase === "Bound") found.push(made("volumePhase", gettext("phase Bound")));
  return found;
}

/** What one event wrote to the claim, as `volumeWrites`. */
function claimWrites(patch, {message}, {claimKey}) {
  const found = [];
  if (patch === null) found.push(failed(gettext("PVC deleted"), gettext("{claimKey} was deleted", {claimKey})));
  if (patch?.volume) found.push(made("name", `spec.volumeName = ${patch.volume}`));
  if (patch?.phase === "Bound") found.push(made("claimPhase", gettext("phase Bound")));
  if (patch?.phase === "Lost") found.push(failed(gettext("PVC status"), message || gettext("phase Lost")));
  return found;
}

function made(key, what) {
  return {key, row: stepRow("done", WRITES.find((write) => write.key === key)?.name, what)};
}

function failed(name, what) {
  return {key: "", row: stepRow("failed", name, what)};
}
