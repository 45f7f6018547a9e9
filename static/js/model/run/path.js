/** The critical path of a pod in words and as parts of a strip; docs/timeline.md has the names of its steps. */
import {duration, moment, parseId} from "../shared/format.js";

const TITLES = {
  gated: "scheduling gates",
  queue: "queue",
  attempt: "attempts",
  grace: "grace of evicted pods",
  overtaken: "overtaken",
  room: "until there was room",
  unschedulable: "unschedulable",
  backoff: "backoff",
  binding: "binding",
  attach: "attach",
  kubelet: "kubelet looks again",
  mount: "mount",
  volumes: "volumes",
  start: "image and start",
};

const STEPS = {
  attempt: ({attempt}) => `attempt ${attempt}`,
  grace: ({objects}) => `grace of ${objects.map(nameOf).join(", ")}`,
  overtaken: ({object}) => `overtaken by ${nameOf(object)}`,
  room: ({object}) => `until ${nameOf(object)} left`,
  attach: ({object}) => (object.startsWith("node/") ? `attach to ${nameOf(object)}` : "attach"),
};

/** "overtaken by payments-5": one step. */
export function stepTitle(step) {
  return (STEPS[step.name] ?? (() => TITLES[step.name]))(step);
}

/** "grace of evicted pods": all steps of a name together. */
export function sumTitle(name) {
  return TITLES[name];
}

/** The heading of a path. */
export function pathTitle({pod, from, to, open}) {
  const length = duration(to - from);
  return open ? `Why has ${nameOf(pod)} waited for ${length}?` : `Why did ${nameOf(pod)} take ${length}?`;
}

/** From when to when it goes. */
export function pathExtent({from, to, open}) {
  return `created ${moment(from)} s → ${open ? "now" : "running or ended"} ${moment(to)} s`;
}

/** The steps with the place of each on a strip, as percent of the whole. */
export function pathParts({from, to, steps}) {
  const whole = Math.max(to - from, 1);
  return steps.map((step) => ({
    step,
    left: ((step.from - from) / whole) * 100,
    width: ((step.to - step.from) / whole) * 100,
  }));
}

/** "56 %": the share of a sum; less than one half of a percent is "<1 %". */
export function share(sum, {from, to}) {
  const percent = (sum / Math.max(to - from, 1)) * 100;
  return percent < 0.5 ? "<1 %" : `${Math.round(percent)} %`;
}

function nameOf(id) {
  return parseId(id).name;
}
