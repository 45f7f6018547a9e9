import {useState} from "preact/hooks";

import {html} from "../../lib/html.js";
import {gettext, listText, ngettext, sentences} from "../../lib/words.js";
import {MACHINES} from "../../model/machines/diagrams.js";
import {isPossible, movesOf, stateNow, titleOf} from "../../model/machines/machines.js";
import {entityOf, nameOf, objectOf, objectsOf} from "../../model/machines/objects.js";
import {byName, count, parseId, timeText} from "../../model/shared/format.js";
import {holdWords, isTerminating} from "../../model/shared/terminating.js";
import {Reading, RunPage, isWaiting} from "../run/run_page.js";
import {EventLink} from "../shared/events.js";
import {InsideLink, ObjectLink} from "../shared/links.js";
import {Name} from "../shared/mark.js";
import {Why} from "../why/why.js";
import {ArrowHeads, Diagram, LastMove} from "./machine.js";

/** The number of names that a field offers, and of moves that the table shows. */
const OFFERED = 50;
const LISTED = 200;

const LAST_LOOK = "last f-promised";
const LEGEND = [
  ["", gettext("possible")],
  ["path", gettext("taken by the followed object")],
  [LAST_LOOK, gettext("its last move")],
];

/** The state machines: the number of objects in each state, and the path of one object. */
export function MachinesPage({session, followed, versions}) {
  return html`<${RunPage} session=${session}><${Body} session=${session} followed=${followed} versions=${versions} /><//>`;
}

function Body({session, followed, versions}) {
  if (isWaiting(session)) {
    return html`<main class="page"><h1>${gettext("State machines")}</h1><${Reading} session=${session} /></main>`;
  }
  const {seq} = session.model;
  const paths = MACHINES.map((machine) => {
    const {id, events} = followed.objects[machine.follows];
    const moves = id.value === null ? [] : movesOf(machine, id.value, events.value, seq);
    return {machine, id: id.value, moves};
  });
  const {profile} = session.run.value;
  const has = versions.find(({name}) => name === profile)?.has ?? [];
  const exists = (stateOrEdge) => isPossible(stateOrEdge, has);
  return html`
    <main class="machines">
      <${ArrowHeads} />
      <div class="pagehead"><h1>${gettext("State machines")}</h1>
        <ul class="legend">${LEGEND.map(([look, words]) => html`<${Sample} key=${words} look=${look} words=${words} />`)}
          <${Sample} look="off" words=${gettext("not in {profile}", {profile})} /></ul></div>
      <div class="four">
        ${paths.map((path) => html`<${Machine} key=${path.machine.key} session=${session} followed=${followed} path=${path} exists=${exists} />`)}
      </div>
      <${Asked} session=${session} followed=${followed} />
      <${Moves} session=${session} paths=${paths} />
    </main>`;
}

const ASKED_WORDS = {pod: gettext("Pod"), claim: gettext("Claim"), volume: gettext("Volume"), node: gettext("Node")};

/** The question why about one of the followed objects. */
function Asked({session, followed}) {
  const id = followed.asked();
  if (id === null) return null;
  return html`
    <div class="whyof"><div class="seg" role="group" aria-label=${gettext("Object to ask about")}>${followed
      .askable()
      .map(
        ({kind, id: each}) => html`
      <button key=${kind} title=${each} aria-pressed=${String(each === id)} onClick=${() => followed.ask(kind)}>${ASKED_WORDS[kind]}</button>`,
      )}</div><${ObjectLink} session=${session} id=${id}>${parseId(id).key}<//>
      <${InsideLink} session=${session} id=${id} />
      <${Why} session=${session} id=${id} level="h2" /></div>`;
}

function Sample({look, words}) {
  return html`<li><svg class="dia" width="28" height="8" aria-hidden="true"><path class=${`e ${look}`} d="M0 4H28" /></svg>${words}</li>`;
}

function Machine({session, followed, path, exists}) {
  const {machine, id, moves} = path;
  const tally = session.model.tallies.get(machine.key);
  const object = found(machine, id, session.model.entities);
  const here = object ? (stateNow(machine, id, object, session.model) ?? "") : undefined;
  const next = (state) => {
    const following = nextIn(machine, state, id, session.model);
    if (following) followed.pick(following);
  };
  return html`
    <section class="mach" aria-label=${machine.title}>
      <header><h2>${machine.title}</h2><span class="small mute num">${held(machine, tally)}</span>
        <${Follow} machine=${machine} id=${id} entities=${session.model.entities} pick=${(other) => followed.pick(other)} /></header>
      <${Diagram} machine=${machine} tally=${tally} exists=${exists} moves=${moves} here=${here} isEnding=${isTerminating(object)} onState=${next} />
      <${LastMove} session=${session} machine=${machine} move=${moves.at(-1)} none=${noMove(machine, followed.objects[machine.follows], session.model.entities)} />
      <${Now} session=${session} machine=${machine} id=${id} object=${object} here=${here} moves=${moves} />
    </section>`;
}

/** What the moves do not show: a state caused by another object, and what blocks a deletion. */
function Now({session, machine, id, object, here, moves}) {
  const words = [];
  if (object && moves.length > 0 && here !== moves.at(-1).to)
    words.push(
      gettext("It is {title} now because the other object of the binding changed.", {title: titleOf(machine, here)}),
    );
  const delayed = id && holdWords(id, session.model);
  if (delayed) words.push(delayed);
  return words.length > 0 && html`<p class="trail now">${sentences(words)}</p>`;
}

function noMove(machine, {id: {value: id}, status}, entities) {
  if (id === null) return gettext("No object to follow.");
  if (status.value === "loading") return gettext("Reading its events…");
  if (status.value === "failed") return gettext("Its events could not be read.");
  const object = found(machine, id, entities);
  return object
    ? gettext("No move yet.")
    : gettext("{id} is not in the cluster at this moment.", {id: nameOf(id, object)});
}

/** The object of that id, or null. */
function found(machine, id, entities) {
  return id && objectOf(machine, id, entities.get(entityOf(id)));
}

/** How many objects a machine follows. @type {Record<string, (number: number) => string>} */
const HELD = {
  pod: (number) => ngettext("{count} pod", "{count} pods", number),
  claim: (number) => ngettext("{count} claim", "{count} claims", number),
  volume: (number) => ngettext("{count} volume", "{count} volumes", number),
};

function held(machine, {held: number, terminating = 0}) {
  if (machine.within) return gettext("{number} attached", {number: count(number)});
  const leaving = terminating > 0 ? [gettext("{number} terminating", {number: count(terminating)})] : [];
  return listText([HELD[machine.follows](number), ...leaving]);
}

const FOLLOWS = {pod: gettext("pod"), claim: gettext("claim"), volume: gettext("volume")};

/** The field with the name of the followed object. */
function Follow({machine, id, entities, pick}) {
  const [open, setOpen] = useState(false);
  // The typed text must survive frames drawn meanwhile.
  const [typed, setTyped] = useState(null);
  const list = `${machine.key}-names`;
  const shown = id ? nameOf(id, found(machine, id, entities)) : "";
  const take = (event) => {
    const wanted = idOf(machine, event.target.value.trim(), entities);
    if (wanted) pick(wanted);
    setTyped(null);
  };
  return html`
    <label class="follow">${gettext("follow")} <input class="pick" list=${list} value=${typed ?? shown} placeholder=${FOLLOWS[machine.follows]}
      spellcheck="false" autocomplete="off" onChange=${take}
      onInput=${(event) => setTyped(event.target.value)}
      onFocus=${(event) => {
        event.target.select();
        setOpen(true);
      }} onBlur=${() => {
        setOpen(false);
        setTyped(null);
      }} /><datalist id=${list}>${open && offered(machine, entities).map((name) => html`<option key=${name} value=${name} />`)}</datalist></label>`;
}

function offered(machine, entities) {
  const names = [];
  for (const [id, object] of objectsIn(machine, entities)) {
    if (machine.stateOf(object) === null) continue;
    names.push(nameOf(id, object));
    if (names.length >= OFFERED) break;
  }
  return names.sort(byName);
}

/** All objects of a machine, as [id, object]. */
function* objectsIn(machine, entities) {
  for (const [id, entity] of entities) yield* objectsOf(machine, id, entity);
}

/** The id of the object with this name, or null. */
function idOf(machine, name, entities) {
  if (!machine.within) return entities.has(`${machine.follows}/${name}`) ? `${machine.follows}/${name}` : null;
  const node = `${machine.within}/${name.split(" on ").at(-1)}`;
  const objects = objectsOf(machine, node, entities.get(node));
  return objects.find(([id, object]) => nameOf(id, object) === name)?.[0] ?? null;
}

/** The next object in a state by name; after the last, the first. */
function nextIn(machine, state, id, model) {
  const ids = [];
  for (const [each, object] of objectsIn(machine, model.entities)) {
    if (stateNow(machine, each, object, model) === state) ids.push(each);
  }
  ids.sort(byName);
  return ids.find((each) => id === null || byName(each, id) > 0) ?? ids[0];
}

/** All moves of the followed objects as a table, newest first. */
function Moves({session, paths}) {
  const moves = paths.flatMap(({machine, id, moves: own}) => own.map((move) => ({...move, machine, id})));
  moves.sort((a, b) => b.seq - a.seq);
  if (moves.length === 0) return null;
  return html`
    <section class="moves" aria-label=${gettext("Moves")}><div class="sechead"><h2>${gettext("Moves")}</h2>
        <span class="note">${ngettext("{count} move of the followed objects, newest first", "{count} moves of the followed objects, newest first", moves.length)}</span></div>
      <div class="scroll-x" tabindex="0" role="region" aria-label=${gettext("Moves, table")}><table class="tbl">
        <thead><tr><th>${gettext("Time")}</th><th>${gettext("Machine")}</th><th>${gettext("Object")}</th><th>${gettext("From")}</th><th>${gettext("To")}</th><th>${gettext("Event")}</th></tr></thead>
        <tbody>${moves.slice(0, LISTED).map(
          (move) => html`
          <tr key=${`${move.machine.key}${move.seq}`}><td class="num"><${EventLink} session=${session} seq=${move.seq}>${timeText(move.at)}<//></td>
            <td class="soft">${move.machine.title}</td><td><${Named} id=${move.id} object=${found(move.machine, move.id, session.model.entities)} /></td>
            <td>${titleOf(move.machine, move.from)}</td><td>${titleOf(move.machine, move.to)}</td>
            <td><b class="kind">${move.kind}</b> <span class="soft">${move.message}</span></td></tr>`,
        )}</tbody></table></div>
    </section>`;
}

function Named({id, object}) {
  if (id.includes("#")) {
    const name = nameOf(id, object);
    return html`<span class="cut" title=${name}>${name}</span>`;
  }
  const {namespace, name} = parseId(id);
  return html`<${Name} namespace=${namespace} name=${name} />`;
}
