/** The tries of an operation that backs off, and the ticks around an instant, ready to be drawn. */

const PERIOD = 1e8;

/**
 * The tries of the operation on the volume that a step is about, up to the instant `at`: {rows, from, end, volume,
 * operation}, null if there was no failure. A row is {number, from, to, wait, next, status}; the status is "failed",
 * "succeeded", "running" or "next". Only tries since the last success count, and one success that ends them.
 */
export function ladderOf(tries, {at, node, volume}) {
  const begun = tries.filter((each) => each.node === node && each.volume === volume && each.began <= at);
  const operation = begun.at(-1)?.operation;
  const last = begun.findLastIndex(({error, ended}) => error === "" && ended < (begun.at(-1)?.began ?? 0));
  const own = begun.slice(last + 1).filter((each) => each.operation === operation);
  if (!own.some(({error, ended}) => error !== "" && ended <= at)) return null;
  const rows = own.map((each, index) => rowOf(each, index + 1, at));
  const {next, status} = rows[rows.length - 1];
  if (status === "failed" && next !== null) {
    rows.push({number: rows.length + 1, from: next, to: next, wait: 0, next: null, status: "next"});
  }
  const ends = rows.map((row) => row.next ?? row.to);
  return {rows, from: rows[0].from, end: Math.max(at, ...ends), volume, operation};
}

function rowOf({began, ended, error, delay, retry_at: next}, number, at) {
  if (ended > at) return {number, from: began, to: ended, wait: 0, next: null, status: "running"};
  if (error === "") return {number, from: began, to: ended, wait: 0, next: null, status: "succeeded"};
  return {number, from: began, to: ended, wait: delay, next, status: "failed"};
}

/** The ticks within `span` ns of the instant `at`, each with the steps of `node` that it had up to then. */
export function ticksOf(steps, {at, node, span}) {
  const found = [];
  for (let tick = Math.ceil((at - span) / PERIOD) * PERIOD; tick <= at + span; tick += PERIOD) {
    if (tick < 0) continue;
    const own = steps.filter((step) => step.part === "kubelet" && step.entity === node && step.at <= at);
    found.push({at: tick, steps: own.filter((step) => tickOf(step.at) === tick)});
  }
  return found;
}

/** The tick at or before an instant. */
function tickOf(at) {
  return Math.floor(at / PERIOD) * PERIOD;
}
