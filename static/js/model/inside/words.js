import {gettext, gettextOf, ngettext} from "../../lib/words.js";
import {callOf, operationLook, volumesOf} from "../health/node_volumes.js";
import {duration, moment, parseId, timeText} from "../shared/format.js";
import {ATTACHING, BINDING, DELETIONS, ENDS, SYNCS, TICKS} from "./sentences.js";
import {nameOf, shortName} from "./steps.js";

const VERIFY = "verify_controller_attached_volume";
const UNKNOWN = ["", ""];

/** A step in words: {title, outcome, sentence}. */
export function wordsOf(step) {
  const [[outcome, sentence], facts] = saidOf(step);
  return {title: titleOf(step), outcome: gettextOf(outcome, facts), sentence: gettextOf(sentence, facts)};
}

function saidOf(step) {
  if (step.part === "kubelet") return step.outcome === "" ? tickSaid(step.tick) : endSaid(step);
  if (step.part === "attach") return attachSaid(step);
  if (step.part === "pv" && step.says.driver === undefined) return [syncSaid(step), {volume: foundBy(step)}];
  return bindingSaid(step);
}

/** The name of a step: a function of upstream, or the loop that ran. */
export function titleOf(step) {
  if (step.part === "attach")
    return step.outcome in ATTACHING ? "attach/detach" : operationLook({name: step.says.operation}).title;
  if (step.part !== "kubelet") return step.function;
  if (step.outcome === "") return step.function.startsWith("find") ? gettext("populator") : gettext("reconciler");
  const [ended] = step.tick.ended;
  return callOf({name: ended.operation, error: ended.error});
}

function syncSaid({function: name, outcome, error}) {
  const said = SYNCS[outcome] ?? DELETIONS[name] ?? UNKNOWN;
  return error ? [gettext("stops at an error"), said[1]] : said;
}

/** The volume that a sync of a claim found. */
function foundBy({taken}) {
  const {find_match: found = "", named = "", bound_volume: bound = ""} = taken[0]?.read ?? {};
  return found.split(",", 1)[0] || named || bound;
}

function bindingSaid({function: name, outcome, says, writes, entity}) {
  const facts = {...says, pod: says.pod ? parseId(`pod/${says.pod}`).name : "", claim: nameOf(entity)};
  if (name === "AssumePodVolumes") return [BINDING[says.volume ? "assumed" : "assumed node"], facts];
  if (name === "BindPodVolumes" && outcome === "written") return [BINDING[writes[0].kind], facts];
  if (outcome === "fails") return [BINDING[name === "checkBindings" ? "check fails" : "provisioning fails"], facts];
  return [BINDING[outcome] ?? UNKNOWN, facts];
}

function attachSaid({outcome, says, entity}) {
  const {volume, operation, delay = 0, others = []} = says;
  const facts = {volume, node: nameOf(entity), others: listed(others), delay: duration(delay)};
  return [ATTACHING[operation ? `${operation} ${outcome}` : outcome] ?? UNKNOWN, facts];
}

/** What a tick did: the pod that was added or removed, else what was asked for first. */
function tickSaid({pods, asked, volumes, before}) {
  const pod = pods.find(({done}) => done);
  if (pod) {
    const isAdded = pod.function === "findAndAddNewPods";
    const key = isAdded ? `${pod.function} ${pod.found === "new" ? "new" : "again"}` : pod.function;
    const names = pods.filter((each) => each.done && each.function === pod.function).map((each) => each.pod);
    return [TICKS[key] ?? UNKNOWN, {pod: listed(names.map((name) => parseId(`pod/${name}`).name))}];
  }
  const [first] = asked;
  const same = asked.filter(({operation}) => operation === first?.operation);
  const names = same.map(({volume}) => volumeName(volume, volumes, before));
  return [TICKS[first?.operation] ?? UNKNOWN, {volume: listed(names)}];
}

/** ["web", "api", "shop"] → "web and 2 more". */
function listed(names) {
  const [first = "", ...others] = new Set(names);
  if (others.length === 0) return first;
  return ngettext("{first} and {count} more", "{first} and {count} more", others.length, {first});
}

function endSaid({outcome, error, tick}) {
  const [ended] = tick.ended;
  const facts = {
    volume: volumeName(ended.volume, tick.volumes, tick.before),
    failures: String(ended.failures),
    delay: duration(ended.delay),
    retry: moment(ended.retry_at ?? 0),
  };
  if (error === "") return [ENDS[isEqual(ended.volume, tick) ? "succeeds" : "succeeds, more to do"], facts];
  if (ended.operation === VERIFY) return [ENDS["verify fails"], facts];
  return [ENDS[ended.failures === 1 ? "fails once" : outcome] ?? UNKNOWN, facts];
}

/** Whether the two states agree on a volume, which neither has when it is gone. */
function isEqual(unique, {volumes}) {
  const row = volumesOf({volumes}).find((each) => each.unique === unique);
  return row === undefined || row.sign === "=";
}

/** The name of a volume in the two states, by its unique name. */
export function volumeName(unique, ...states) {
  for (const volumes of states) if (volumes[unique]) return volumes[unique].name;
  return shortName(unique);
}

/** The sentence for a step that was repeated: how often, and until when. */
export function repeatedWords({repeated, last_at: last}) {
  if (repeated === 0) return "";
  return ngettext(
    "The same happened once more, until {last}.",
    "The same happened {count} times more, until {last}.",
    repeated,
    {last: timeText(last)},
  );
}
