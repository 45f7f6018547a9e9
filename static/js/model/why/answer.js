import {capital, gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {count, duration, timeText} from "../shared/format.js";

/** An answer with one more part of it: the causes first, then each fix, and what is known last. */
export function joined(diagnosis, part) {
  if (!diagnosis) return part;
  if (part.fix) return {...diagnosis, fixes: [...diagnosis.fixes, part.fix]};
  return {...diagnosis, ...part};
}

/** Whether an answer that has begun is complete with this part. */
export function isWhole(part) {
  return !part.fix;
}

/** Mark, family and words of each severity of a cause. */
export const CAUSE_LOOK = {
  blocks: {mark: "no", family: "stuck", words: gettext("blocks it")},
  narrows: {mark: "unschedulable", family: "held", words: gettext("limits it")},
  delays: {mark: "backoff", family: "clock", words: gettext("resolves with time")},
  notes: {mark: "expired", family: "held", words: gettext("worth knowing")},
};

/** For a pod without a node, causes are about nodes. */
const NODE_WORDS = {blocks: gettext("excludes every node"), narrows: gettext("excludes some nodes")};

/** Mark, family and words of a cause. */
export function causeLook({severity, nodes = []}) {
  const look = CAUSE_LOOK[severity];
  return nodes.length > 0 && NODE_WORDS[severity] ? {...look, words: NODE_WORDS[severity]} : look;
}

/** The causes of which something is left to be said beside the sentence that leads the answer. */
export function causesBeside({causes, sentence: lead}) {
  return causes.filter(
    ({sentence, plugin, why, because}) =>
      sentence !== lead || plugin || (why && why !== sentence) || because.length > 0,
  );
}

/** The kinds of objects that can be asked about, as entity ids begin. */
const ASKED = [
  "pod",
  "claim",
  "volume",
  "node",
  "deployment",
  "replicaset",
  "replicationcontroller",
  "statefulset",
  "daemonset",
  "job",
  "poddisruptionbudget",
];

/** Whether the object of this id exists and can be asked about. */
export function isAskable(id, entities) {
  return isOfAskedKind(id) && entities.has(id);
}

/** Whether objects of the kind can be asked about: also one that was deleted, whose answer says by whom and when. */
export function isOfAskedKind(id) {
  return Boolean(id) && ASKED.includes(id.split("/", 1)[0]);
}

/** In place of the facts of an object of which the files say nothing. */
const NO_FACT = {text: gettext("nothing: the files have no status and no Event of it"), when: "", mark: ""};

/** What is said of the prediction in a cluster that is too large for a fork to be played. */
const DECIDED = gettext("as things are; so large a cluster is not played ahead");

/**
 * What is known of an object of a cluster that was brought, or null for any other: the facts of its files, what the
 * model predicts (nothing once it was played), and whether these contradict each other.
 */
export function observedOf({observed_facts: facts, predicted, is_played: isPlayed, instant, contradiction, sentence}) {
  if (!facts) return null;
  return {
    facts: facts.length > 0 ? facts.map(factOf) : [NO_FACT],
    since: instant ? gettext("in your files, as of {instant}", {instant}) : gettext("in your files"),
    predicted: predicted === sentence ? gettext("the same") : predicted,
    horizon: isPlayed === false ? DECIDED : gettext("for the next minute; nothing was played"),
    contradiction,
  };
}

/** A fact as {text, when, mark}: where and when it was seen, and what took its place when the run was played. */
function factOf({text, at, source, superseded_by: by}) {
  const when = source === "files" ? "" : listText([source, at].filter(Boolean));
  return {
    text,
    when,
    mark: by
      ? gettext("superseded at {time} by event {seq}, {text}", {
          time: timeText(by.t),
          seq: count(by.seq),
          text: by.text,
        })
      : "",
  };
}

/**
 * "Label n2 disk=ssd: it is bound to n2 at 20.008 s." as the change and its outcome; of a change for all that one
 * cause holds, how many pods it places, and what it costs.
 */
export function fixParts({text, places, of, loses, shared}) {
  if (of !== undefined) {
    const counted = places === null ? "" : gettext("Places {places} of {of}.", {places, of});
    const costs = [loses && gettext("Loses {loses}.", {loses}), shared && gettext("Shared: {shared}.", {shared})];
    return {order: text, outcome: sentences([counted, ...costs])};
  }
  // eslint-disable-next-line words/catalogue -- how the server puts the two together
  const at = text.lastIndexOf(": it ");
  if (at < 0) return {order: text, outcome: ""};
  const outcome = text.slice(at + 2);
  return {order: text.slice(0, at), outcome: capital(outcome)};
}

/** How an offered change was verified. */
export function proof({shown, places}) {
  if (places === null) return {mark: "expired", family: "held", words: gettext("not tried: no scheduler can show it")};
  return shown === "fork"
    ? {mark: "ok", family: "settled", words: gettext("verified in a fork")}
    : {mark: "expired", family: "held", words: gettext("scheduling decision only")};
}

/** The commands of a fix in order: one, or several that only help together; none where kscope has none for it. */
export function fixCommands({command, then, more = [], commands}) {
  if (commands) return commands;
  return then ? [command, then, ...more] : [command];
}

/** A command in a few words: "patch node/n2", "replace Pod default/web-3", "uncordon node/n1". */
export function commandWords({verb, object, manifest}) {
  if (!manifest) return `${verb} ${object}`;
  const {name, namespace} = manifest.metadata;
  return `${verb} ${manifest.kind} ${namespace ? `${namespace}/` : ""}${name}`;
}

/** The note of the section: how many changes were tried, and at which event. */
export function triedWords({seq, tried}) {
  const total = Object.values(tried ?? {}).reduce((sum, each) => sum + each, 0);
  return total === 0
    ? gettext("at event {seq}", {seq: count(seq)})
    : ngettext("{count} change tried at event {seq}", "{count} changes tried at event {seq}", total, {seq: count(seq)});
}

/** Whether the server is still at work on this answer. */
export function isUnderWay(answer) {
  return answer?.status === "loading" || answer?.status === "trying";
}

/** Whether an answer is for this event. */
export function isCurrent(answer, seq) {
  return answer?.status === "ready" && answer.diagnosis.seq === seq;
}

/** "This answer is for event 812, 12.40 s ago; the run has continued since then." */
export function staleWords(diagnosis, at) {
  return gettext("This answer is for event {seq}, {at} ago; the run has continued since then.", {
    seq: count(diagnosis.seq),
    at: duration(at - diagnosis.at),
  });
}

const REST_MS = 700;
const PLAYING_MS = 10_000;

/**
 * After how many ms to repeat the question, or null for never. Only questions at the newest event about an
 * object that exists are repeated: rarely while the run plays, and soon after it pauses.
 */
export function askAgainIn({held, id, exists, place, playing, sinceAnswer}) {
  if (held?.id !== id || held.status !== "ready" || place.past) return null;
  if (!exists || isCurrent(held, place.seq)) return null;
  return playing ? Math.max(REST_MS, PLAYING_MS - sinceAnswer) : REST_MS;
}

/**
 * The answer about the object of this id, or null. At the newest event an older answer is kept; in the past
 * only an answer for the event shown counts.
 */
export function answerFor(held, id, {seq, past}) {
  if (held?.id !== id) return null;
  const answered = held.diagnosis?.seq ?? held.seq;
  return past && answered !== seq ? null : held;
}
