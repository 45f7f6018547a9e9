import {gettext, labelled} from "../../lib/words.js";
import {stepRow} from "./step_rows.js";

const PLANS = {
  Retain: gettext("Retain: the volume will be kept, in phase Released"),
  Delete: gettext("Delete: the volume will be deleted after its claim"),
  Recycle: gettext("Recycle: the volume will be erased and become Available"),
};

/** The step Reclaim: what happens, or has happened, to the volume after its claim is deleted. */
export function reclaimStep(binding) {
  const {volume, events, volumeId} = binding;
  const last = (test) => events.findLast(({changes}) => volumeId && test(changes?.[volumeId]));
  if (!volume) return withoutVolume(binding, last);
  const {phase, reclaim, deleting} = volume;
  const entered = last((patch) => patch?.phase === phase);
  if (phase === "Failed") {
    return since(entered, {
      ...stepRow("failed", gettext("Reclaim"), labelled(gettext("{reclaim} failed", {reclaim}), entered?.message)),
      status: "now",
    });
  }
  if (deleting !== undefined)
    return since(
      last((patch) => patch?.deleting !== undefined),
      underWay(gettext("deletion in progress")),
    );
  if (phase !== "Released") return stepRow("todo", gettext("Reclaim"), PLANS[reclaim] ?? reclaim ?? "");
  if (reclaim !== "Retain") return since(entered, underWay(gettext("{reclaim}: in progress", {reclaim})));
  const kept = stepRow("done", gettext("Reclaim"), gettext("Retain: stays Released until its claimRef is removed"));
  return since(entered, {...kept, mark: "released", family: "held"});
}

function withoutVolume({volumeName, storageClass}, last) {
  const deletion = last((patch) => patch === null);
  if (deletion) {
    const row = stepRow("done", gettext("Reclaim"), gettext("{volumeName} was deleted", {volumeName}));
    return since(deletion, {...row, mark: "lost", family: "held"});
  }
  const policy = storageClass?.reclaim;
  return stepRow(
    "todo",
    gettext("Reclaim"),
    policy ? gettext("its class has the policy {policy}", {policy}) : gettext("no volume yet"),
  );
}

function underWay(what) {
  return {...stepRow("todo", gettext("Reclaim"), what), status: "now", mark: "in-flight", family: "working"};
}

/** A row with the time of an event, if there is one. */
function since(event, row) {
  return {...row, at: event?.at, seq: event?.seq};
}
