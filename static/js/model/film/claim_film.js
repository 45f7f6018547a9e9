/**
 * The film of a claim: what was done about it until it was bound, from the inside of what looks after volumes. A step with
 * several writes is one step of the film for each.
 */
import {gettext, gettextNoop, gettextOf} from "../../lib/words.js";
import {wordsOf} from "../inside/words.js";
import {nameOf} from "../inside/steps.js";
import {numbered} from "./numbered.js";

/** @typedef {import("./film.js").Film} Film */

/** Those who bind; what attaches and mounts comes later. */
const PARTS = ["pv", "scheduler", "provisioner"];

/**
 * The film of a claim, from the answer of `inside/volumes/` about it.
 *
 * @returns {Film}
 */
export function claimFilmOf(answer) {
  const told = answer.steps.filter(({part}) => PARTS.includes(part));
  const steps = numbered(told.flatMap(splitStep));
  const phases = runsOf(steps);
  return {
    kind: "claim",
    answer,
    events: [],
    steps,
    isLarge: false,
    isOver: true,
    bands: [{title: gettext("binding"), isReal: true, phases}],
  };
}

/** One step for each write; the event of a write is so many before the last one of its step. */
function splitStep(told) {
  const {at, seq, writes} = told;
  if (writes.length === 0) return [{phase: phaseOf(told), told, write: null, at, seq}];
  return writes.map((_, write) => ({phase: "write", told, write, at, seq: seq - (writes.length - 1 - write)}));
}

function phaseOf({part, function: name}) {
  if (name === "AssumePodVolumes") return "reserve";
  if (name === "checkBindings") return "look";
  return part === "pv" ? "sync" : "prebind";
}

/** Steps of one phase that follow one another. */
export function runsOf(steps) {
  const runs = [];
  for (const step of steps) {
    const last = runs.at(-1);
    if (last?.phase === step.phase) last.steps.push(step);
    else runs.push({phase: step.phase, steps: [step]});
  }
  return runs;
}

const WROTE = {
  VolumePreBound: ({volume, claim}) => [gettext("{volume} names the claim.", {volume}), "spec.claimRef", claim],
  VolumeProvisioned: ({volume}) => [gettext("{volume} is made.", {volume}), gettext("created"), volume],
  VolumeBound: ({volume}) => [gettext("{volume} is Bound.", {volume}), "status.phase", "Bound"],
  ClaimBindCompleted: ({volume}) => [gettext("The claim names {volume}.", {volume}), "spec.volumeName", volume],
  ClaimBound: () => [gettext("The claim is Bound."), "status.phase", "Bound"],
};

/** A write in words: {sentence, field, value}. */
export function writeWords({answer}, {told, write}) {
  const {kind} = told.writes[write];
  const names = {claim: nameOf(answer.entity), volume: volumeOf(answer)};
  const [sentence, field, value] = WROTE[kind]?.(names) ?? [kind, kind, ""];
  return {sentence, field, value};
}

/** The volume that the claim was bound to at last, or "". */
export function volumeOf({volumes}) {
  return volumes.at(-1) ?? "";
}

/** What happens at a step of a claim's film, in a sentence. */
export function claimSays(film, step) {
  if (step.write === null) return wordsOf(step.told).sentence;
  const all = film.steps.filter(({write}) => write !== null);
  const facts = {number: all.indexOf(step) + 1, sentence: lowered(writeWords(film, step).sentence)};
  return gettextOf(WRITES[step.told.part], facts);
}

const WRITES = {
  pv: gettextNoop("Write {number}, by the PV controller: {sentence}"),
  scheduler: gettextNoop("Write {number}, by the scheduler: {sentence}"),
  provisioner: gettextNoop("Write {number}, by the external provisioner: {sentence}"),
};

export const BY = {
  pv: gettext("PV controller"),
  scheduler: gettext("scheduler"),
  provisioner: gettext("external provisioner"),
};

function lowered(sentence) {
  return sentence.startsWith("The ") ? `t${sentence.slice(1)}` : sentence;
}

/** What the writes change of an object, by the kind of their event. */
const CHANGES = {
  VolumePreBound: (claim) => ({names: claim}),
  VolumeProvisioned: (claim) => ({names: claim}),
  VolumeBound: () => ({phase: "Bound"}),
  ClaimBindCompleted: (_, volume) => ({names: volume}),
  ClaimBound: () => ({phase: "Bound"}),
};

/**
 * What is known of claim and volume at a step: {known, before, line, writes}. `known` is by id as the inside tells it, `before`
 * is that of the step before; `line` is "none", "assumed", "half" or "whole"; `writes` are made so far.
 */
export function claimPicture(film, place) {
  const [before, known] = [knownAt(film, place - 1), knownAt(film, place)];
  const writes = film.steps.slice(0, place + 1).filter(({write}) => write !== null).length;
  return {known, before, line: lineOf(film.answer, known), writes};
}

/** Objects by id after the step in a place. */
function knownAt(film, place) {
  return film.steps.slice(0, place + 1).reduce((known, step) => knownAfter(film.answer, known, step), {});
}

function knownAfter(answer, known, {told, write}) {
  const isWhole = write === null || write === told.writes.length - 1;
  if (isWhole) return {...known, ...Object.fromEntries(told.known.map((each) => [each.entity, each]))};
  const {kind, entity, version} = told.writes[write];
  const first = known[entity] ?? told.known.find((each) => each.entity === entity) ?? {entity};
  const changes = CHANGES[kind]?.(nameOf(answer.entity), volumeOf(answer)) ?? {};
  return {...known, [entity]: {...first, ...changes, api_server: version}};
}

function lineOf(answer, known) {
  const claim = known[answer.entity];
  const volume = known[`volume/${volumeOf(answer)}`];
  const sides = [volume?.names === nameOf(answer.entity), Boolean(claim?.names)].filter(Boolean).length;
  if (sides === 2) return "whole";
  if (sides === 1) return "half";
  return volume?.over ? "assumed" : "none";
}
