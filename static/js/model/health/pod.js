import {clauses, gettext, labelled, listText, ngettext} from "../../lib/words.js";
import {duration, parseId, timeText} from "../shared/format.js";
import {isFinished, isTerminating, podTerminatingWords} from "../shared/terminating.js";
import {healthIs, opensWithName} from "./health.js";
import {awaitedOn, failureSentence, failureWords, troubleHealth} from "./operations.js";

/** The words of a health where there is little room; the whole sentence about a failure is in the title beside it. */
export function brief({state, words}) {
  return state === "failing" ? gettext("failing") : words;
}

const ABSENT = healthIs("well", "other", ["expired", "held", gettext("does not exist at this moment")]);
const cache = new WeakMap();

/**
 * The one health of a pod (see healthIs), for every page. `model` is the state that is shown: {entities, nodes, at}.
 */
export function podHealth(id, pod, model) {
  if (!pod) return ABSENT;
  if (isTerminating(pod)) return terminating(pod, model);
  if (!pod.node) return unplaced(id, pod, model);
  const node = model.entities.get(`node/${pod.node}`);
  const kept = cache.get(pod);
  if (kept && kept.id === id && isAlike(kept.node, node)) return kept.health;
  const health = placed(id, pod, node);
  cache.set(pod, {id, node, health});
  return health;
}

/** Whether two states of a node mean the same for the pods on it. */
function isAlike(one, other) {
  return (
    one === other ||
    (one?.ready === other?.ready && one?.volumes === other?.volumes && one?.attachments === other?.attachments)
  );
}

function terminating(pod, {entities, at}) {
  const node = entities.get(`node/${pod.node}`);
  const isHeld = pod.finalizers?.length > 0 || (pod.node && !node?.ready);
  const look = ["victim", "stuck", gettext("terminating")];
  return healthIs(isHeld ? "stuck" : "waiting", "terminating", look, podTerminatingWords(pod, {node, at}));
}

/** A pod without a node fails with the claim that is refused to it. */
function unplaced(id, pod, model) {
  const refused = refusedClaim(id, pod, model);
  const found = pod.assumed ? assumed(pod) : pod.nominated ? nominated(id, pod, model) : queued(pod, model);
  if (!refused) return found;
  const [name, {words, detail, mark, family}] = refused;
  const look = [mark, family, labelled(name, words)];
  return opensWithName(healthIs("failing", found.place, look, labelled(name, detail)));
}

function refusedClaim(id, {claims = []}, {entities}) {
  for (const name of claims) {
    const claim = entities.get(`claim/${parseId(id).namespace}/${name}`);
    const failing = claim && !claim.volume && troubleHealth(claim);
    if (failing) return [name, failing];
  }
  return null;
}

function assumed({assumed: name}) {
  return healthIs("waiting", "assumed", ["assumed", "promised", gettext("assumed on {name}", {name})]);
}

/** A nominated pod waits for the pods that still end on its node, which have their grace. */
function nominated(id, pod, {entities, nodes, at}) {
  const {nominated: name, queue} = pod;
  const look = (words) => ["nominated", "promised", words];
  const place = queue ?? "other";
  const node = entities.get(`node/${name}`);
  if (!node?.ready) {
    const words = node
      ? gettext("nominated to {name}, which is NotReady", {name})
      : gettext("nominated to {name}, which does not exist", {name});
    return healthIs("stuck", place, look(words));
  }
  const victims = [...(nodes.pods.get(name) ?? [])].filter(
    ([other, each]) => each.node === name && isTerminating(each) && other !== id,
  );
  if (victims.length === 0) return healthIs("waiting", place, look(gettext("nominated to {name}", {name})));
  const first = parseId(victims[0][0]).name;
  const words =
    victims.length === 1
      ? gettext("waits for {pod} to end on {name}", {pod: first, name})
      : ngettext(
          "waits for {pod} and {count} more to end on {name}",
          "waits for {pod} and {count} more to end on {name}",
          victims.length - 1,
          {pod: first, name},
        );
  const left = Math.max(...victims.map(([, {deleting}]) => deleting)) - at;
  const grace = left > 0 ? gettext("{time} of grace left", {time: duration(left)}) : gettext("their grace is over");
  return healthIs(
    "waiting",
    place,
    look(words),
    labelled(gettext("nominated to {name}", {name}), listText([words, grace])),
  );
}

function placed(id, pod, node) {
  const {node: name, phase} = pod;
  if (isFinished(pod))
    return healthIs("well", "finished", ["vbound", "held", gettext("{phase} on {name}", {phase, name})]);
  if (!node) {
    const words = gettext("node {name} does not exist", {name});
    return healthIs(
      "stuck",
      "stuck",
      ["no", "stuck", words],
      labelled(words, gettext("the pod garbage collector deletes the pod")),
    );
  }
  if (!node.ready) {
    const words = gettext("node {name} is NotReady", {name});
    return healthIs(
      "stuck",
      "stuck",
      ["no", "stuck", words],
      labelled(words, gettext("no kubelet reports how the pod is")),
    );
  }
  if (phase === "Running")
    return toldHealth(pod) ?? healthIs("well", "bound", ["bound", "settled", gettext("bound to {name}", {name})]);
  if (pod.told?.is_fault) return toldHealth(pod);
  return troubleHealth(pod) ?? starting(pod, awaitedOn(node).get(parseId(id).key));
}

/** For so many nanoseconds a pod may start or become ready; triage calls it stuck after that. */
const PATIENCE = 600e9;

/** What the status of a pod tells of its containers, by the files or by their script; null for nothing. */
function toldHealth(pod) {
  const {told, node} = pod;
  if (!told) return null;
  const {container, reason, message, restarts, is_fault: isFault, since} = told;
  const often = restarts ? ngettext("restarted once", "restarted {count} times", restarts) : "";
  if (isFault) {
    const trouble = troubleHealth(pod);
    const facts = listText([reason, often].filter(Boolean));
    const words = labelled(container, clauses([facts, trouble?.words]));
    const said = message ?? pod.trouble?.error;
    return opensWithName(healthIs("failing", "failing", ["backoff", "stuck", words], labelled(words, said)));
  }
  const isLate = since < -PATIENCE;
  const words = container ? reasonWords(reason, node, since) : notReadyWords(reason, node, since);
  const look = isLate ? ["no", "stuck"] : ["in-flight", "working"];
  const place = isLate ? "stuck" : "starting";
  const health = healthIs(isLate ? "stuck" : "waiting", place, [...look, words], labelled(words, message));
  return container ? opensWithName(health) : health;
}

function reasonWords(reason, node, since) {
  if (since >= 0) return gettext("{reason} on {node}", {reason, node});
  return gettext("{reason} on {node} since {time} before the start", {reason, node, time: duration(-since)});
}

function notReadyWords(reason, node, since) {
  if (since >= 0) return gettext("runs on {node} and is not ready: {reason}", {node, reason});
  const time = duration(-since);
  return gettext("runs on {node} and is not ready since {time} before the start: {reason}", {node, time, reason});
}

function starting(pod, awaited) {
  const {node: name} = pod;
  if (!awaited)
    return (
      toldHealth(pod) ?? healthIs("waiting", "starting", ["in-flight", "working", gettext("starts on {name}", {name})])
    );
  const {name: volume, step, trouble, refused} = awaited;
  if (trouble) {
    const look = ["backoff", "stuck", failureWords(volume, trouble)];
    return healthIs("failing", "failing", look, failureSentence(volume, trouble));
  }
  if (refused) {
    const words = gettext("{volume} is attached to another node", {volume});
    const detail = gettext("{volume} is attached to another node, and only one node may have it attached", {volume});
    return opensWithName(healthIs("stuck", "stuck", ["no", "stuck", words], detail));
  }
  const look = step === "attach" ? ["attach", "ready"] : ["mount", "working"];
  const words =
    step === "attach"
      ? gettext("waits for the attach of {volume}", {volume})
      : gettext("waits for the mount of {volume}", {volume});
  return healthIs("waiting", "starting", [...look, words]);
}

const QUEUE_LOOK = {
  in_flight: ["in-flight", "working", gettext("in flight")],
  active: ["active", "ready", gettext("active")],
  backoff: ["backoff", "clock", gettext("in backoff")],
  unschedulable: ["unschedulable", "stuck", gettext("unschedulable")],
  gated: ["gated", "held", gettext("gated")],
};

function queued(pod, model) {
  const {queue, phase, backoff_until: until, gates = []} = pod;
  const look = QUEUE_LOOK[queue];
  if (queue === "unschedulable") return healthIs("stuck", queue, look, blockerWords(pod) || look[2]);
  if (queue === "backoff") {
    const words = until === undefined ? look[2] : gettext("in backoff until {time}", {time: timeText(until)});
    return healthIs("waiting", queue, look, clauses([blockerWords(pod), words]));
  }
  if (queue === "gated") {
    const words = ngettext("scheduling gate {gates}", "scheduling gates {gates}", gates.length, {
      gates: listText(gates),
    });
    return healthIs("waiting", queue, look, gates.length > 0 ? words : look[2]);
  }
  if (queue) return healthIs("waiting", queue, look);
  if (isFinished(pod)) return healthIs("well", "finished", ["vbound", "held", phase]);
  return healthIs(
    "waiting",
    "unqueued",
    ["expired", "held", gettext("not queued")],
    unqueuedWords(pod, model.entities),
  );
}

/** Why no scheduler queues a pod, as far as its replicas are known: `scheduler/NAME-N`. */
function unqueuedWords({scheduler = "default-scheduler"}, entities) {
  const replicas = [];
  for (let i = 0; entities.has(`scheduler/${scheduler}-${i}`); i += 1)
    replicas.push(entities.get(`scheduler/${scheduler}-${i}`));
  if (replicas.length === 0 || replicas.some(({leading, running}) => leading && running))
    return gettext("{scheduler} has not queued it: the pod is new, or its scheduler does not run", {scheduler});
  if (replicas.some(({running}) => running))
    return gettext("{scheduler} waits for its Lease: none of its replicas leads", {scheduler});
  return gettext("no replica of {scheduler} runs", {scheduler});
}

/** What the newest attempt lacked, marked with the attempt: the cluster may have changed since. "" without one. */
export function blockerWords({blocker}) {
  if (!blocker?.short) return "";
  return blocker.attempt
    ? gettext("{short} (attempt {attempt})", {short: blocker.short, attempt: blocker.attempt})
    : blocker.short;
}

/** Whether no scheduler has a pod that still needs a node. */
export function isUnqueued(pod) {
  return !pod.queue && !pod.node && !pod.assumed && !isTerminating(pod) && !isFinished(pod);
}

/** All states that a pod is in at the same time, as [mark, family, words]; its health comes first. */
export function podStates(id, pod, model) {
  const {mark, family, words} = podHealth(id, pod, model);
  const found = [[mark, family, words]];
  if (!pod) return found;
  if (pod.queue) found.push(QUEUE_LOOK[pod.queue]);
  if (pod.node) found.push(["bound", "settled", gettext("bound to {node}", {node: pod.node})]);
  if (pod.nominated && !pod.node)
    found.push(["nominated", "promised", gettext("nominated to {nominated}", {nominated: pod.nominated})]);
  if (pod.node && pod.phase) found.push(["run", "held", pod.phase]);
  return found.filter((each, i) => found.findIndex((other) => other[2] === each[2]) === i);
}
