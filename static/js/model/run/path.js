/** The critical path of a pod in words and as parts of a strip; docs/timeline.md has the names of its steps. */
import {gettext, listText} from "../../lib/words.js";
import {duration, parseId, timeText} from "../shared/format.js";

const TITLES = {
  gated: gettext("scheduling gates"),
  queue: gettext("queue"),
  attempt: gettext("attempts"),
  grace: gettext("grace of evicted pods"),
  overtaken: gettext("overtaken"),
  room: gettext("until there was room"),
  unschedulable: gettext("unschedulable"),
  backoff: gettext("backoff"),
  binding: gettext("binding"),
  attach: gettext("attach"),
  kubelet: gettext("kubelet looks again"),
  mount: gettext("mount"),
  volumes: gettext("volumes"),
  start: gettext("image and start"),
};

const STEPS = {
  attempt: ({attempt}) => gettext("attempt {attempt}", {attempt}),
  grace: ({objects}) => gettext("grace of {objects}", {objects: listText(objects.map(nameOf))}),
  overtaken: ({object}) => gettext("overtaken by {object}", {object: nameOf(object)}),
  room: ({object}) => gettext("until {object} left", {object: nameOf(object)}),
  attach: ({object}) =>
    object.startsWith("node/") ? gettext("attach to {object}", {object: nameOf(object)}) : gettext("attach"),
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
  return open
    ? gettext("Why has {pod} waited for {length}?", {pod: nameOf(pod), length})
    : gettext("Why did {pod} take {length}?", {pod: nameOf(pod), length});
}

/** From when to when it goes. */
export function pathExtent({from, to, open}) {
  const times = {from: timeText(from), to: timeText(to)};
  return open ? gettext("created {from} → now {to}", times) : gettext("created {from} → running or ended {to}", times);
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
