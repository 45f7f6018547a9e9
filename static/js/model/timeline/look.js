/** How the states of a timeline look: solid is work, tinted waiting, hatched leaving, a line goes on well. */
import {gettext} from "../../lib/words.js";

/** @type {Record<string, {family: string, shape: string, title: string}>} */
export const LOOKS = {
  active: {family: "ready", shape: "tint", title: gettext("active")},
  attempt: {family: "working", shape: "solid", title: gettext("attempt")},
  backoff: {family: "clock", shape: "tint", title: gettext("backoff")},
  unschedulable: {family: "stuck", shape: "tint", title: gettext("unschedulable")},
  gated: {family: "held", shape: "tint", title: gettext("gated")},
  pending: {family: "clock", shape: "tint", title: gettext("pending")},
  binding: {family: "promised", shape: "solid", title: gettext("binding")},
  half_bound: {family: "promised", shape: "solid", title: gettext("half-bound")},
  attaching: {family: "ready", shape: "solid", title: gettext("attach")},
  attach: {family: "ready", shape: "solid", title: gettext("attach")},
  kubelet: {family: "clock", shape: "tint", title: gettext("until the kubelet looks again")},
  mounting: {family: "working", shape: "solid", title: gettext("mount")},
  mount: {family: "working", shape: "solid", title: gettext("mount")},
  detach: {family: "held", shape: "solid", title: gettext("detach")},
  unmount: {family: "held", shape: "solid", title: gettext("unmount")},
  failing: {family: "stuck", shape: "solid", title: gettext("failed, waits for the next try")},
  starting: {family: "settled", shape: "tint", title: gettext("image and start")},
  running: {family: "settled", shape: "line", title: gettext("running")},
  unready: {family: "clock", shape: "solid", title: gettext("runs, not ready")},
  crashing: {family: "stuck", shape: "tint", title: gettext("container crashes, waits for its restart")},
  bound: {family: "settled", shape: "line", title: gettext("bound")},
  ready: {family: "settled", shape: "line", title: gettext("ready")},
  attached: {family: "settled", shape: "line", title: gettext("attached")},
  mounted: {family: "settled", shape: "line", title: gettext("mounted")},
  ended: {family: "held", shape: "line", title: gettext("ended")},
  terminating: {family: "stuck", shape: "hatch", title: gettext("terminating")},
  nominated: {family: "promised", shape: "ghost", title: gettext("nominated")},
  cordoned: {family: "held", shape: "tint", title: gettext("cordoned")},
  not_ready: {family: "stuck", shape: "solid", title: gettext("not ready")},
  lost: {family: "stuck", shape: "tint", title: gettext("lost")},
};

/** What the legend explains, in the order of a pod's life. */
export const LEGEND = [
  "active",
  "attempt",
  "backoff",
  "unschedulable",
  "gated",
  "binding",
  "attach",
  "mount",
  "failing",
  "starting",
  "running",
  "unready",
  "crashing",
  "terminating",
  "nominated",
].map((state) => ({state, ...LOOKS[state]}));

/** The name of a state in words. */
export function stateTitle(state) {
  return LOOKS[state]?.title ?? state;
}
