import assert from "node:assert/strict";
import {readFileSync, readdirSync} from "node:fs";
import {test} from "node:test";

import {claimFilmOf, claimPicture} from "../../../../static/js/model/film/claim_film.js";
import {clockAt, dwellMs, gapNs, isShortened, parseSpeed} from "../../../../static/js/model/film/clock.js";
import {factsOf} from "../../../../static/js/model/film/facts.js";
import {filmOf, placeOfPhase, placeOfStep} from "../../../../static/js/model/film/film.js";
import {firstPicture, nextPicture, pictureOf} from "../../../../static/js/model/film/picture.js";
import {insideOf, stackOf} from "../../../../static/js/model/film/places.js";
import {cellsOf} from "../../../../static/js/model/film/strips.js";
import {saysOf} from "../../../../static/js/model/film/words.js";

// Written by `python -m tests.films` from runs of the demos.
const FOLDER = new URL("recorded/", import.meta.url);
const NAMES = readdirSync(FOLDER)
  .map((file) => file.replace(".json", ""))
  .filter((name) => name !== "claim");

function read(name) {
  return JSON.parse(readFileSync(new URL(`${name}.json`, FOLDER), "utf8"));
}

function recorded(name) {
  const {answer, events} = read(name);
  return filmOf(answer, events);
}

/** The phases of a film in order, each once. */
const phasesOf = ({steps}) => [...new Set(steps.map(({phase}) => phase))];
const lastOf = ({steps}, phase) => steps.findLastIndex((step) => step.phase === phase);

test("stepping forwards shows what a jump shows", () => {
  for (const film of NAMES.map(recorded)) {
    let picture = firstPicture(film);
    const forwards = film.steps.map((step) => (picture = nextPicture(film, picture, step)));
    // Backwards, so that no jump can lean on the one before it.
    for (let place = film.steps.length - 1; place >= 0; place -= 1)
      assert.deepEqual(pictureOf(film, place), forwards[place], `${film.answer.pod} ${film.steps[place].id}`);
  }
});

test("a step leaves the earlier picture as it was", () => {
  for (const film of NAMES.map(recorded)) {
    let picture = firstPicture(film);
    for (const step of film.steps) {
      const before = JSON.stringify(picture);
      const after = nextPicture(film, picture, step);
      assert.equal(JSON.stringify(picture), before, step.id);
      picture = after;
    }
  }
});

test("every step has a sentence and facts", () => {
  for (const film of NAMES.map(recorded))
    for (const step of film.steps) {
      const facts = factsOf(film, step, pictureOf(film, step.place));
      const words = JSON.stringify([saysOf(film, step), facts, stackOf(film, step), insideOf(film, step)]);
      assert.doesNotMatch(words, /undefined|NaN|\[object/, `${film.answer.pod} ${step.id}`);
      assert.match(stackOf(film, step).at(-1).file, /^pkg\//, step.id);
    }
});

test("a step is found by its address", () => {
  for (const film of NAMES.map(recorded)) {
    for (const {id, place} of film.steps) assert.equal(placeOfStep(film, id), place);
    assert.equal(placeOfStep(film, "nonsense.7"), 0);
    assert.equal(placeOfStep(film, "snapshot"), placeOfStep(film, "snapshot.1"));
  }
});

test("steps never go back in time", () => {
  for (const film of NAMES.map(recorded))
    for (const [place, step] of film.steps.entries())
      assert.ok(place === 0 || (step.at >= film.steps[place - 1].at && step.seq >= film.steps[place - 1].seq), step.id);
});

test("phases come in upstream's order", () => {
  assert.deepEqual(phasesOf(recorded("placed")), [
    ...["pop", "snapshot", "order", "prefilter", "filter", "prescore", "score", "normalize", "sum", "host"],
    ...["assume", "reserve", "permit", "prebind", "bind", "postbind"],
  ]);
});

test("going by phases visits each phase once", () => {
  const film = recorded("placed");
  const seen = [];
  for (let place = 0; ; place = placeOfPhase(film, place, 1)) {
    if (seen.at(-1) === film.steps[place].phase) break;
    seen.push(film.steps[place].phase);
  }
  assert.deepEqual(seen, phasesOf(film));
  assert.equal(placeOfPhase(film, lastOf(film, "filter"), -1), placeOfStep(film, "filter.1"));
  assert.equal(placeOfPhase(film, placeOfStep(film, "filter.1"), -1), placeOfStep(film, "prefilter.1"));
});

test("filters add up to the calls told", () => {
  const film = recorded("placed");
  const {tally, far} = pictureOf(film, lastOf(film, "filter"));
  const [search] = film.answer.filter.searches;
  assert.equal(tally.calls, search.calls);
  assert.deepEqual([far.asked, far.fit], [search.nodes.length, film.answer.score.nodes.length]);
});

test("weighted scores add up to the total", () => {
  const film = recorded("placed");
  const {nodes} = pictureOf(film, lastOf(film, "sum"));
  for (const {node, total} of film.answer.score.nodes) assert.equal(nodes[node].sum.total, total);
});

test("the drawn node alone stays marked", () => {
  const film = recorded("placed");
  const looks = (place) => Object.values(pictureOf(film, place).nodes).map(({look}) => look);
  assert.equal(looks(placeOfStep(film, "host.1")).filter((look) => look === "tied").length, 2);
  assert.deepEqual(
    looks(placeOfStep(film, "host.2")).filter((look) => look === "tied" || look === "won"),
    ["won"],
  );
});

test("the fourth write ends the binding", () => {
  const film = recorded("placed");
  const writes = film.steps.filter(({phase}) => phase === "prebind").map(({place}) => pictureOf(film, place).writes);
  assert.deepEqual(writes, [1, 2, 3, 4, 4]);
});

test("a preemption ends with its victims", () => {
  const film = recorded("preempts");
  const {outcome} = film.answer.post_filter;
  const chosen = outcome.candidates.find(({node}) => node === outcome.node);
  const picture = pictureOf(film, lastOf(film, "ladder"));
  assert.deepEqual(
    picture.victims,
    chosen.victims.map((pod) => `pod/${pod}`),
  );
  assert.equal(picture.nodes[outcome.node].look, "promised");
  assert.ok(phasesOf(film).includes("nominate"));
});

test("a refusal at PreFilter looks at no node", () => {
  const film = recorded("refused");
  assert.ok(!phasesOf(film).includes("filter"));
  const hatched = film.bands.flatMap(({phases}) => phases).find(({phase}) => phase === "filter");
  assert.deepEqual(hatched.steps, []);
});

test("a binding that is undone is forgotten", () => {
  const film = recorded("undone");
  const phases = phasesOf(film);
  assert.ok(phases.indexOf("assume") < phases.indexOf("unreserve"));
  assert.ok(phases.indexOf("unreserve") < phases.indexOf("forget"));
  assert.ok(!phases.includes("bind"));
});

test("rounds have neither Permit nor PreBind", () => {
  const phases = phasesOf(recorded("rounds"));
  assert.ok(phases.includes("bindqueue"));
  assert.ok(!phases.includes("permit") && !phases.includes("prebind"));
});

test("a nominated node alone is asked first", () => {
  const film = recorded("nominated");
  assert.deepEqual(
    film.steps.filter(({phase}) => phase === "filter").map(({search, from, upto}) => [search, from, upto]),
    [[0, 0, 1]],
  );
});

test("a large search has ten steps", () => {
  const film = recorded("large");
  assert.ok(film.isLarge);
  const parts = film.steps.filter(({phase}) => phase === "filter");
  assert.equal(parts.length, 10);
  const last = parts.at(-1);
  const cells = [...cellsOf(film, pictureOf(film, last.place), null).values()].map(({cell}) => cell);
  assert.equal(cells.length, last.upto);
  assert.equal(cells.filter((cell) => cell === "n").length, 1);
});

test("a picked reason leaves its nodes dark", () => {
  const film = recorded("large");
  const picture = pictureOf(film, lastOf(film, "filter"));
  const [search] = film.answer.filter.searches;
  const refused = search.nodes.filter(({refusal}) => refusal === 0).length;
  const cells = [...cellsOf(film, picture, 0).values()].map(({cell}) => cell);
  assert.equal(cells.filter((cell) => cell === "x" || cell === "n").length, refused);
});

test("the clock stands until the pod is assumed", () => {
  const film = recorded("placed");
  const assumed = placeOfStep(film, "assume");
  for (let place = 0; place < assumed; place += 1) {
    assert.equal(gapNs(film, place), 0);
    assert.equal(clockAt(film, place, 0.9), film.steps[0].at);
  }
  assert.ok(film.steps[assumed].at > film.steps[0].at);
});

test("a long wait is shortened and says so", () => {
  const film = recorded("placed");
  const written = placeOfStep(film, "prebind.4");
  assert.equal(dwellMs(film, written, 0.05), 6000);
  assert.ok(isShortened(film, written, 0.05));
  assert.equal(dwellMs(film, 0, 0.05), 800);
  assert.ok(!isShortened(film, 0, 0.05));
});

test("an unknown speed is the usual one", () => {
  assert.equal(parseSpeed("0.01"), 0.01);
  assert.equal(parseSpeed("7"), 0.05);
});

test("each write of a claim is a step", () => {
  const film = claimFilmOf(read("claim").answer);
  assert.deepEqual(
    film.steps.map(({id}) => id),
    ["sync.1", "reserve.1", "write.1", "sync.2", "write.2", "write.3", "write.4", "look.1"],
  );
  const seqs = film.steps.filter(({write}) => write !== null).map(({seq}) => seq);
  assert.deepEqual(seqs, [169, 170, 171, 172]);
});

test("the line of a claim grows with its writes", () => {
  const film = claimFilmOf(read("claim").answer);
  const lines = film.steps.map(({place}) => claimPicture(film, place).line);
  assert.deepEqual(lines, ["none", "assumed", "half", "half", "half", "whole", "whole", "whole"]);
  const versions = film.steps.map(({place}) => claimPicture(film, place).known["claim/shop/data-ledger-0"].api_server);
  assert.deepEqual(versions, ["92", "92", "92", "92", "92", "96", "97", "97"]);
});

test("every step of a claim has a sentence", () => {
  const film = claimFilmOf(read("claim").answer);
  for (const step of film.steps) {
    const facts = factsOf(film, step, claimPicture(film, step.place));
    const words = JSON.stringify([saysOf(film, step), facts, stackOf(film, step), insideOf(film, step)]);
    assert.doesNotMatch(words, /undefined|NaN|\[object|\{\w+\}/, step.id);
    assert.equal(placeOfStep(film, step.id), step.place);
  }
});

test("a victim that outlives the next attempt has its step", () => {
  const {answer, events} = read("preempts");
  const {victims} = answer.post_filter.outcome.candidates.find(({node}) => node === answer.post_filter.outcome.node);
  const victim = `pod/${victims[0]}`;
  const next = events.find(
    ({kind, object, seq}) => kind === "AttemptStarted" && object === `pod/${answer.pod}` && seq > answer.seq,
  );
  const others = events.filter(({kind, object}) => kind !== "PodDeleted" || object !== victim);
  const evicted = events.find(({kind, object}) => kind === "PodEvicted" && object === victim);
  const gone = {seq: next.seq + 5, at: evicted.at + 30e9, kind: "PodDeleted", object: victim, message: ""};
  const film = filmOf(answer, [...others, gone]);
  const last = film.steps[film.steps.length - 1];
  assert.equal(last.id, "leave.1");
  assert.match(saysOf(film, last), /is gone only now, 30\.00 s after it was evicted and after the next attempt/);
  assert.ok(film.steps.findIndex(({phase}) => phase === "again") < film.steps.length - 1);
});
