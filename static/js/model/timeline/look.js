/** How the states of a timeline look: solid is work, tinted waiting, hatched leaving, a line goes on well. */

/** @type {Record<string, {family: string, shape: string, title: string}>} */
export const LOOKS = {
  active: {family: "ready", shape: "tint", title: "active"},
  attempt: {family: "working", shape: "solid", title: "attempt"},
  backoff: {family: "clock", shape: "tint", title: "backoff"},
  unschedulable: {family: "stuck", shape: "tint", title: "unschedulable"},
  gated: {family: "held", shape: "tint", title: "gated"},
  pending: {family: "clock", shape: "tint", title: "pending"},
  binding: {family: "promised", shape: "solid", title: "binding"},
  half_bound: {family: "promised", shape: "solid", title: "half-bound"},
  attaching: {family: "ready", shape: "solid", title: "attach"},
  attach: {family: "ready", shape: "solid", title: "attach"},
  kubelet: {family: "clock", shape: "tint", title: "until the kubelet looks again"},
  mounting: {family: "working", shape: "solid", title: "mount"},
  mount: {family: "working", shape: "solid", title: "mount"},
  detach: {family: "held", shape: "solid", title: "detach"},
  unmount: {family: "held", shape: "solid", title: "unmount"},
  failing: {family: "stuck", shape: "solid", title: "failed, waits for the next try"},
  starting: {family: "settled", shape: "tint", title: "image and start"},
  running: {family: "settled", shape: "line", title: "running"},
  bound: {family: "settled", shape: "line", title: "bound"},
  ready: {family: "settled", shape: "line", title: "ready"},
  attached: {family: "settled", shape: "line", title: "attached"},
  mounted: {family: "settled", shape: "line", title: "mounted"},
  ended: {family: "held", shape: "line", title: "ended"},
  terminating: {family: "stuck", shape: "hatch", title: "terminating"},
  nominated: {family: "promised", shape: "ghost", title: "nominated"},
  cordoned: {family: "held", shape: "tint", title: "cordoned"},
  not_ready: {family: "stuck", shape: "solid", title: "not ready"},
  lost: {family: "stuck", shape: "tint", title: "lost"},
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
  "terminating",
  "nominated",
].map((state) => ({state, ...LOOKS[state]}));

/** The name of a state in words. */
export function stateTitle(state) {
  return LOOKS[state]?.title ?? state;
}
