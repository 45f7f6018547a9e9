import {gettext} from "../../lib/words.js";
import {isFinished} from "../shared/terminating.js";

/**
 * The state machines of pods, claims, volumes and volume operations: states, edges, and where they are drawn.
 *
 * `stateOf(object, event)` gives the state of an object, or null; a missing object is null. `event` is the
 * one that changed the object, null if that is not known. An edge represents all its `moves`, "from>to",
 * where "" means outside the machine; `leaves` maps the last state of a deleted object to its final state.
 * A `passing` state is not counted, because objects leave it at once; objects in an `outer` state have not
 * entered the machine yet. Versions differ in some states and edges: these exist where the version has what
 * they `needs`.
 */
const QUEUE = {
  key: "queue",
  title: gettext("Scheduling queue"),
  follows: "pod",
  outside: gettext("not queued"),
  dots: [
    [14, 144],
    [670, 144],
  ],
  states: [
    {key: "gated", title: gettext("Gated"), mark: "gated", family: "held", at: [150, 22], needs: "gates"},
    {key: "active", title: gettext("Active"), mark: "active", family: "ready", at: [86, 124]},
    {key: "in_flight", title: gettext("In flight"), mark: "in-flight", family: "working", at: [284, 124]},
    {key: "assumed", title: gettext("Assumed"), mark: "assumed", family: "promised", at: [490, 124]},
    {key: "backoff", title: gettext("Backoff"), mark: "backoff", family: "clock", at: [200, 232]},
    {
      key: "unschedulable",
      title: gettext("Unschedulable"),
      mark: "unschedulable",
      family: "stuck",
      at: [374, 232],
      width: 150,
    },
  ],
  edges: [
    {moves: [">active"], path: "M20 144H84", text: [50, 136, "middle", "PodAdd"]},
    {
      moves: [">gated"],
      path: "M14 136V44H148",
      text: [82, 36, "middle", gettext("PreEnqueue rejects")],
      needs: "gates",
    },
    {moves: ["gated>active"], path: "M182 64V122", text: [190, 98, "start", gettext("gate removed")], needs: "gates"},
    {moves: ["active>in_flight"], path: "M214 144H282", text: [248, 136, "middle", "Pop"]},
    {moves: ["in_flight>assumed"], path: "M412 144H488", text: [451, 136, "middle", "AssumePod"]},
    {moves: ["assumed>"], path: "M618 144H664", text: [642, 136, "middle", "AddPod"]},
    {moves: ["in_flight>backoff"], path: "M296 166V230", text: [289, 190, "end", gettext("moved while in flight")]},
    {moves: ["backoff>in_flight"], path: "M316 230V168", text: [322, 190, "start", "Pop"], needs: "early_pop"},
    {moves: ["in_flight>unschedulable"], path: "M398 166V230", text: [406, 190, "start", "ScheduleAttemptFailure"]},
    {
      moves: ["unschedulable>active"],
      path: "M430 272V297H104V168",
      text: [112, 290, "start", gettext("cluster event, backoff over")],
    },
    {moves: ["backoff>active"], path: "M198 252H134V168", text: [142, 222, "start", "BackoffComplete"]},
    {moves: ["unschedulable>backoff"], path: "M372 252H330", text: [351, 225, "middle", gettext("event")]},
    {
      moves: ["assumed>backoff", "assumed>unschedulable", "assumed>active"],
      path: "M560 166V284H276V274",
      text: [568, 226, "start", gettext("binding failed")],
      bridged: true,
    },
  ],
  stateOf(pod) {
    if (!pod) return null;
    return pod.queue ?? (pod.cache === "assumed" ? "assumed" : null);
  },
};

const CACHE = {
  key: "cache",
  title: gettext("Scheduler cache"),
  follows: "pod",
  states: [
    {key: "initial", title: gettext("Initial"), mark: "available", family: "ready", at: [16, 84], outer: true},
    {key: "assumed", title: gettext("Assumed"), mark: "assumed", family: "promised", at: [260, 84]},
    {key: "added", title: gettext("Added"), mark: "bound", family: "settled", at: [502, 84]},
    {
      key: "expired",
      title: gettext("Expired"),
      mark: "expired",
      family: "held",
      at: [260, 212],
      passing: true,
      needs: "expiry",
    },
    {key: "deleted", title: gettext("Deleted"), mark: "lost", family: "held", at: [502, 212], passing: true},
  ],
  edges: [
    {moves: ["initial>assumed"], path: "M144 96H258", text: [200, 88, "middle", "AssumePod"]},
    {moves: ["assumed>initial"], path: "M258 112H146", text: [200, 130, "middle", "ForgetPod"]},
    {moves: ["assumed>added"], path: "M388 104H500", text: [444, 96, "middle", "AddPod"]},
    {moves: ["added>added"], path: "M540 84V52H600V82", text: [570, 44, "middle", "UpdatePod"]},
    {moves: ["added>deleted"], path: "M564 124V210", text: [572, 172, "start", "RemovePod"]},
    {
      moves: ["assumed>expired"],
      path: "M324 124V210",
      text: [332, 172, "start", gettext("TTL 30 s after binding")],
      needs: "expiry",
    },
    {
      moves: ["initial>added"],
      path: "M80 84V28H520V82",
      text: [290, 22, "middle", gettext("AddPod, observed by watch before AssumePod")],
    },
    {moves: ["expired>added"], path: "M388 232H470V146H520V126", text: [464, 248, "end", "AddPod"], needs: "expiry"},
  ],
  leaves: {added: "deleted"},
  stateOf(pod, event) {
    if (!pod) return null;
    if (pod.cache) return isFinished(pod) ? "deleted" : pod.cache;
    return event?.kind === "AssumptionExpired" ? "expired" : "initial";
  },
};

export const VOLUME = {
  key: "volume",
  title: gettext("Volume phases"),
  follows: "volume",
  dots: [[624, 292]],
  states: [
    {key: "pending", title: "Pending", mark: "pending", family: "clock", at: [12, 96], width: 126},
    {key: "available", title: "Available", mark: "available", family: "ready", at: [186, 96], width: 126},
    {key: "half", title: gettext("half-bound"), mark: "half", family: "promised", at: [360, 96], width: 126},
    {key: "bound", title: "Bound", mark: "vbound", family: "settled", at: [534, 96], width: 126},
    {key: "failed", title: "Failed", mark: "failed", family: "stuck", at: [360, 222], width: 126},
    {key: "released", title: "Released", mark: "released", family: "held", at: [534, 222], width: 126},
  ],
  edges: [
    {moves: ["pending>available"], path: "M138 116H184", text: [161, 88, "middle", gettext("unclaimed")]},
    {moves: ["pending>half"], path: "M76 94V62H400V94", text: [160, 56, "middle", gettext("provisioned for a claim")]},
    {moves: ["available>half"], path: "M312 108H358", text: [335, 88, "middle", "claimRef"]},
    {moves: ["half>available"], path: "M358 124H314", text: [335, 154, "middle", gettext("unbound")]},
    {moves: ["half>bound"], path: "M486 116H532", text: [509, 88, "middle", gettext("both refer to each other")]},
    {
      moves: ["bound>available"],
      path: "M598 94V34H250V94",
      text: [490, 28, "middle", gettext("unbound")],
      bridged: true,
    },
    {moves: ["bound>released"], path: "M598 136V220", text: [606, 182, "start", gettext("claim deleted")]},
    {moves: ["released>failed"], path: "M534 242H488", text: [511, 214, "middle", gettext("Delete fails")]},
    {moves: ["released>available"], path: "M568 262V284H250V138", text: [258, 278, "start", "Recycle"]},
    {moves: ["released>"], path: "M624 262V284", text: [632, 280, "start", "Delete"]},
  ],
  stateOf(volume) {
    if (!volume) return null;
    const {phase, claim} = volume;
    if (phase === "Bound" || phase === "Released" || phase === "Failed") return phase.toLowerCase();
    if (claim) return "half";
    return phase === "Available" ? "available" : "pending";
  },
};

export const CLAIM = {
  key: "claim",
  title: gettext("Claim phases"),
  follows: "claim",
  dots: [[14, 96]],
  states: [
    {key: "pending", title: "Pending", mark: "pending", family: "clock", at: [60, 76]},
    {key: "half", title: gettext("half-bound"), mark: "half", family: "promised", at: [280, 76]},
    {key: "bound", title: "Bound", mark: "vbound", family: "settled", at: [500, 76]},
    {key: "lost", title: "Lost", mark: "lost", family: "stuck", at: [500, 212]},
  ],
  edges: [
    {moves: [">pending"], path: "M20 96H58"},
    {moves: [">half"], path: "M14 88V38H324V74", text: [169, 32, "middle", gettext("names its volume from the start")]},
    {moves: ["pending>half"], path: "M188 96H278", text: [233, 88, "middle", "volumeName"]},
    {moves: ["half>bound"], path: "M408 96H498", text: [453, 88, "middle", gettext("both set")]},
    {moves: ["bound>lost"], path: "M588 116V210", text: [596, 168, "start", gettext("PV deleted")]},
    {moves: ["lost>bound"], path: "M544 210V118", text: [536, 168, "end", gettext("PV exists again")]},
    {moves: ["half>lost"], path: "M344 116V232H498", text: [352, 226, "start", gettext("PV deleted")]},
  ],
  stateOf(claim) {
    if (!claim) return null;
    if (claim.phase === "Lost") return "lost";
    if (claim.phase === "Bound" && claim.volume) return "bound";
    return claim.volume ? "half" : "pending";
  },
};

const OPERATION = {
  key: "operation",
  title: gettext("Volume operation"),
  follows: "attachment",
  within: "node",
  dots: [[75, 30]],
  states: [
    {
      key: "detached",
      title: gettext("Detached"),
      mark: "detach",
      family: "held",
      at: [12, 64],
      width: 126,
      outer: true,
    },
    {key: "attached", title: gettext("Attached"), mark: "attach", family: "ready", at: [186, 64], width: 126},
    {key: "device", title: gettext("On device"), mark: "mount", family: "working", at: [360, 64], width: 126},
    {key: "mounted", title: gettext("Mounted"), mark: "bound", family: "settled", at: [534, 64], width: 126},
    {key: "backoff", title: gettext("Backing off"), mark: "backoff", family: "clock", at: [186, 218], width: 150},
  ],
  edges: [
    {moves: [">detached"], path: "M75 35V62", text: [84, 48, "start", gettext("needed")]},
    {moves: ["detached>attached"], path: "M138 76H184", text: [161, 56, "middle", gettext("Attach")]},
    {moves: ["attached>device"], path: "M312 76H358", text: [335, 56, "middle", "MountDevice"]},
    {moves: ["device>mounted"], path: "M486 76H532", text: [509, 56, "middle", "SetUp"]},
    {moves: ["mounted>device"], path: "M532 92H488", text: [509, 122, "middle", "TearDown"]},
    {moves: ["device>attached"], path: "M358 92H314", text: [305, 122, "start", "UnmountDevice"]},
    {moves: ["attached>detached"], path: "M184 92H140", text: [161, 122, "middle", gettext("Detach")]},
    {
      moves: ["attached>mounted"],
      path: "M260 64V30H597V62",
      text: [428, 24, "middle", gettext("SetUp, where there is no device")],
    },
    {moves: ["mounted>attached"], path: "M556 104V142H298V106", text: [470, 158, "middle", "TearDown"]},
    {moves: ["attached>backoff"], path: "M226 104V216", text: [219, 184, "end", gettext("failed")]},
    {moves: ["backoff>attached"], path: "M264 218V106", text: [271, 184, "start", gettext("retry")]},
    {moves: ["detached>backoff"], path: "M40 104V252H184", text: [48, 246, "start", gettext("Attach failed")]},
    {moves: ["backoff>detached"], path: "M186 230H100V106", text: [108, 222, "start", gettext("retry")]},
    {moves: ["device>backoff"], path: "M440 104V240H338", text: [447, 184, "start", gettext("failed")], bridged: true},
    {moves: ["backoff>device"], path: "M336 226H390V106", text: [383, 184, "end", gettext("retry")], bridged: true},
    {moves: ["mounted>backoff"], path: "M620 104V254H338", text: [627, 184, "start", gettext("failed")], bridged: true},
    {moves: ["backoff>mounted"], path: "M336 247H580V106", text: [573, 184, "end", gettext("retry")], bridged: true},
  ],
  leaves: {attached: "detached", device: "detached", mounted: "detached", backoff: "detached"},
  stateOf(attachment) {
    if (!attachment) return null;
    const {kubelet, controller} = attachment;
    const operations = [...Object.values(kubelet?.operations ?? {}), controller?.operation ?? {}];
    if (operations.some(({retry_at: again}) => again !== undefined)) return "backoff";
    if (Object.values(kubelet?.mounts ?? {}).includes("VolumeMounted")) return "mounted";
    if (kubelet?.device) return "device";
    return kubelet?.attached || controller?.attached ? "attached" : "detached";
  },
};

export const MACHINES = [QUEUE, CACHE, VOLUME, CLAIM, OPERATION];
