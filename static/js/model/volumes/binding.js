import {machineOf, movesOf} from "../machines/machines.js";
import {parseId} from "../shared/format.js";
import {claimState, isVolumeGone} from "./claims.js";

/**
 * A claim, its volume and what happened to both, at one event.
 *
 * `facts` are {claimId, claim, volumeId, volume, holder, mode, storageClass, users, events, at, model}: `events`
 * are those of the claim, the volume and the pod up to that event, oldest first; an object is undefined
 * while it does not exist; `holder` and `mode` are as in claimState. Added are `claimKey`, `volumeName`,
 * `state` (see claimState, null without a claim) and `since`, when that state or phase began, or null.
 */
export function bindingOf(facts) {
  const {claimId, claim, volumeId, holder, mode} = facts;
  const binding = {
    ...facts,
    claimKey: claimId && parseId(claimId).key,
    volumeName: volumeId && parseId(volumeId).name,
    state: claim ? claimState(claim, holder, mode) : null,
  };
  return {...binding, since: sinceOf(binding)};
}

/** The events of several objects up to event `seq` as one list, oldest first. */
export function mergedUpTo(seq, ...lists) {
  return lists
    .flat()
    .filter((event) => event.seq <= seq)
    .sort((a, b) => a.seq - b.seq);
}

/** Whether the volume of a bound claim was deleted and the claim is not marked Lost yet. */
export function hasLostVolume({claim, volume, volumeName}) {
  return isVolumeGone(claim, volume) && claim.volume === volumeName;
}

/** When the claim, or else the volume, entered its state. */
function sinceOf({claim, claimId, claimKey, volume, volumeId, events, state}) {
  if (state === "half") {
    // Either side may have been written first.
    const isReference = ({changes}) =>
      changes?.[claimId]?.volume ||
      (claimKey && changes?.[volumeId]?.claim === claimKey) ||
      changes?.[volumeId] === null;
    return events.findLast(isReference)?.at ?? null;
  }
  const [kind, id] = claim ? ["claim", claimId] : volume ? ["volume", volumeId] : [null, null];
  if (!kind) return null;
  const own = events.filter(({object}) => object === id);
  return movesOf(machineOf(kind), id, own, Infinity).at(-1)?.at ?? null;
}
