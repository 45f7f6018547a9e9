/** The binding of a cycle in time. */
import {gettext, listText} from "../../lib/words.js";
import {parseId} from "../shared/format.js";

/** When the n-th thing of a kind was told, in ns. */
function timesOf({steps}, kind) {
  return steps.filter((step) => step.kind === kind).map(({at}) => at);
}

/** Who else writes while a pod is bound. */
const OTHERS = {"pv-controller": gettext("PV controller"), "external-provisioner": "provisioner"};

/** What to ask for the writes of others during a binding: parameters of the events, null if there are no volumes. */
export function writesAsked({volumes, steps}) {
  if (!volumes) return null;
  const first = steps.find(({kind}) => kind === "VolumesWritten");
  if (!first) return null;
  return {after: first.seq - 1, before: steps.at(-1).seq + 1, component: Object.keys(OTHERS).join(",")};
}

/**
 * What is done about the volumes, in the order of time: {at, lane, family, text}. *events* are those of others; a
 * moment is of all events of one component at one instant.
 */
export function bindingMoments(answer, events) {
  const {written = [], looks = []} = answer.volumes ?? {};
  const writes = timesOf(answer, "VolumesWritten");
  const seen = timesOf(answer, "VolumesLooked");
  const told = [
    ...roundMoments(answer),
    ...written.flatMap((one, turn) => writtenMoments(one, writes[turn])),
    ...looks.flatMap((look, turn) => lookMoments(look, seen[turn])),
    ...otherMoments(answer, events),
  ];
  if (told.length === 0) return [];
  const bound = {
    at: timesOf(answer, "Bound")[0],
    lane: gettext("API server"),
    family: "settled",
    text: gettext("binding"),
  };
  return [...told, ...(answer.bind ? [bound] : [])].toSorted((one, other) => one.at - other.at);
}

function lookMoments({is_bound: isBound, caches}, at) {
  const versions = caches.map(({latest_version: version}) => version).filter(Boolean);
  const text = isBound
    ? gettext("looks: bound, rv {versions}", {versions: listText(versions)})
    : gettext("looks: not yet");
  return [{at, lane: "scheduler", family: isBound ? "settled" : "clock", text}];
}

function otherMoments({volumes}, events) {
  const own = new Set((volumes?.assumed ?? []).flatMap(({caches}) => caches.map(({kind, name}) => `${kind}/${name}`)));
  const found = new Map();
  for (const {at, component, kind, object} of events) {
    if (!own.has(object) || !OTHERS[component]) continue;
    const key = `${component} ${at}`;
    found.set(key, {at, component, kinds: [...(found.get(key)?.kinds ?? []), kind]});
  }
  return [...found.values()].map(({at, component, kinds}) => ({
    at,
    lane: OTHERS[component],
    family: "settled",
    text: listText(kinds),
  }));
}

/** v1.11: into the queue of the worker, and out of it. */
function roundMoments(answer) {
  const at = timesOf(answer, "RoundMade");
  return answer.rounds.map(({what, error}, turn) => ({
    at: at[turn],
    lane: "BindQueue",
    family: error ? "stuck" : "clock",
    text: what,
  }));
}

function writtenMoments({written, error}, at) {
  const text = error ? gettext("write fails") : gettext("writes");
  const objects = written.map(({name, version}) => ({
    at,
    lane: gettext("API server"),
    family: "plain",
    text: gettext("{name} rv {version}", {name: parseId(`x/${name}`).name, version}),
  }));
  return [{at, lane: "scheduler", family: error ? "stuck" : "promised", text}, ...objects];
}

/** Where the time from queued to bound went: {title, family, ns}, without what took none. */
export function spentIn(answer) {
  const at = (name) => answer.phases.find((phase) => phase.name === name)?.at ?? null;
  const assumed = at("assume");
  if (assumed === null) return [];
  const looked = timesOf(answer, "VolumesLooked").at(-1) ?? assumed;
  const bound = at("bind");
  return [
    {title: gettext("queued"), family: "held", ns: at("pop") - answer.pop.timestamp},
    {title: gettext("cycle"), family: "working", ns: assumed - at("pop")},
    {title: "PreBind", family: "clock", ns: looked - assumed},
    {title: "Bind", family: "promised", ns: bound === null ? 0 : bound - looked},
  ].filter(({ns}) => ns > 0);
}
