import {Component, createRef} from "preact";

import {html} from "../../lib/html.js";
import {gettext, ngettext, sentences} from "../../lib/words.js";
import {choices, momentShown} from "../../model/lesson/reading.js";
import {eventText} from "../../model/shared/event_words.js";
import {author, bytes, count, parseId, timeText} from "../../model/shared/format.js";
import {LaneList} from "../board/lanes.js";
import {NodeGrid} from "../board/node_grid.js";
import {PictureButton} from "../picture/picture_dialog.js";
import {isWaiting} from "../run/run_page.js";

const MOST_DISKS = 30;
const NARROW = 80;
const TAGS = {pick: "choose", answer: "answer", chosen: gettext("your choice")};

/** The run beside the text: queue, claims, nodes and disks at the instant that is told of. */
export function Picture({reader}) {
  const session = reader.session.value;
  return html`
    <section class="scene" data-picture=${gettext("The run")} aria-label=${gettext("The run")}>
      <${SceneHead} reader=${reader} session=${session} />
      ${reader.lesson.value.moments === null || !session || isWaiting(session) ? html`<${Computing} reader=${reader} session=${session} />` : html`<${Stage} reader=${reader} session=${session} />`}
    </section>`;
}

function SceneHead({reader, session}) {
  const lesson = reader.lesson.value;
  const run = session?.run.value;
  return html`
    <div class="scenehead"><b class="cut" title=${lesson.scenario}>${lesson.scenario}</b>
      ${run && html`<span class="micro mute">${gettext("{profile}, seed {seed}", {profile: run.profile, seed: run.seed})}</span>`}
      ${session && lesson.moments !== null && html`<a class="small" href=${session.href("board")}>${gettext("Open this instant on the board")}</a> <${PictureButton} />`}</div>
    ${lesson.problems?.length > 0 && html`<div class="past-banner long" role="status"><b>${gettext("This lesson was written for another version.")}</b><details><summary>${gettext("What its run does not show")}</summary><ul>${lesson.problems.map((each) => html`<li key=${each}>${each}</li>`)}</ul></details></div>`}`;
}

function Computing({reader, session}) {
  if (reader.problem.value) return html`<p class="stage small" role="alert">${reader.problem.value}</p>`;
  const head = session?.live.head.seq ?? 0;
  return html`<p class="stage computing small mute" role="status">${sentences([head > 0 ? ngettext("Computing the run, {count} event so far…", "Computing the run, {count} events so far…", head) : gettext("Computing the run…"), gettext("The text can be read meanwhile.")])}</p>`;
}

function Stage({reader, session}) {
  const {model} = session;
  return html`
    <${EventLine} reader=${reader} session=${session} model=${model} version=${session.tick.value} />
    <${Choosable} reader=${reader} version=${session.tick.value}>
      <${LaneList} session=${session} />
      <div class="mid"><${NodeGrid} session=${session} /><${Disks} session=${session} /></div>
    <//>`;
}

/** The event after which the picture is, and what the text's mark that was pressed says of it. */
function EventLine({reader, session, model, version}) {
  const [event] = model.run.events;
  return html`
    <div class="evline"><button type="button" class="btn icon plain" aria-label=${gettext("One event back")} title=${gettext("One event back")} onClick=${() => session.playhead.stepBack()}>‹</button>
      <button type="button" class="btn icon plain" aria-label=${gettext("One event on")} title=${gettext("One event on")} disabled=${!session.playhead.past.value} onClick=${() => session.playhead.stepEvent()}>›</button>
      <span class="num">${timeText(model.at)}</span><span class="num mute">#${count(model.seq)}</span>
      <span class="cut" title=${event ? `${author(event.component)} ${event.kind} ${event.object} ${eventText(event)}` : undefined}>${event && html`<span class="mute">${author(event.component)}</span> <b>${event.kind}</b> ${parseId(event.object).name} <span class="mute">${eventText(event)}</span>`}</span></div>
    <${Attribute} reader=${reader} model=${model} version=${version} />`;
}

/** The variable that the text speaks of, and its value now. */
function Attribute({reader, model}) {
  const {object, attribute} = reader.pressed.value ?? {};
  if (!attribute) return null;
  const value = model.entities.get(object)?.[attribute];
  return html`<p class="attribute small" role="status">${gettext("{name}: {text}", {name: html`<code>${object}</code> ${attribute}`, text: html`<b>${valueText(attribute, value)}</b>`})}</p>`;
}

function valueText(attribute, value) {
  if (value === undefined) return gettext("not set");
  if (["capacity", "request"].includes(attribute) && typeof value === "number") return bytes(value);
  if (["created", "queue_since", "backoff_until", "first_queued"].includes(attribute)) return timeText(value);
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** Volumes with their node rule, and which claim each has: none, named by the volume alone, or bound. */
function Disks({session}) {
  const {entities} = session.model;
  const volumes = [...entities].filter(([id]) => id.startsWith("volume/")).slice(0, MOST_DISKS);
  if (volumes.length === 0) return null;
  return html`
    <section class="disks" aria-label=${gettext("Volumes")}><h2>${gettext("Volumes")}</h2>
      <ul>${volumes.map(([id, volume]) => html`<li key=${id}><${Disk} session=${session} id=${id} volume=${volume} /></li>`)}</ul></section>`;
}

function Disk({session, id, volume}) {
  const {entities} = session.model;
  const claim = volume.claim && entities.get(`claim/${volume.claim}`);
  const isBound = volume.phase === "Bound" && claim?.volume === parseId(id).name;
  const look = !volume.claim ? "free" : isBound ? "bound" : "half";
  const words = {
    free: volume.phase,
    bound: gettext("bound to {claim}", {claim: volume.claim}),
    half: gettext("{phase}, names {claim}", {phase: volume.phase, claim: volume.claim}),
  }[look];
  return html`
    <button type="button" class=${`disk ${look}`} data-entity=${id} aria-pressed=${String(session.selection.volume.value === id)}
      onClick=${() => session.select({volume: id})}>
      <b class="mono">${parseId(id).name}</b><span>${bytes(volume.capacity ?? 0)}</span><span class="mute">${volume.affinity ?? ""}</span><span class="is">${words}</span></button>`;
}

/**
 * The picture with what can be chosen on it: a dashed button over each thing that is an option. The buttons lie in a
 * layer of their own, because things have buttons in them.
 */
class Choosable extends Component {
  stage = createRef();
  state = {boxes: []};

  componentDidMount() {
    this.watch = new ResizeObserver(() => this.measure());
    this.watch.observe(this.stage.current);
    this.measure();
  }

  componentDidUpdate() {
    this.measure();
  }

  componentWillUnmount() {
    this.watch?.disconnect();
  }

  /** Find where the options of the question are now. */
  measure() {
    const {reader} = this.props;
    const {current, answer} = reader;
    const isAt = momentShown(current, answer);
    const boxes = [];
    if (current.ask && isAt && this.stage.current) {
      const origin = this.stage.current.getBoundingClientRect();
      for (const [id, {number, look}] of choices(current, answer)) {
        const thing = find(this.stage.current, id);
        if (!thing) continue;
        const {left, top, width, height} = thing.getBoundingClientRect();
        const place = [left - origin.left, top - origin.top, width, height].map(Math.round);
        boxes.push({id, number, look, place});
      }
    }
    if (JSON.stringify(boxes) !== JSON.stringify(this.state.boxes)) this.setState({boxes});
  }

  render({reader, children}, {boxes}) {
    return html`
      <div class="stage" ref=${this.stage}>${children}
        ${boxes.map(({id, number, look, place: [left, top, width, height]}) => {
          const style = `left:${left}px;top:${top}px;width:${width}px;height:${height}px`;
          // Below a tile there is room for the number of the answer alone.
          const isNarrow = width < NARROW;
          const tag = html`<span class=${isNarrow ? "tag narrow" : "tag"}>${isNarrow ? number : TAGS[look]}</span>`;
          return look === "pick"
            ? html`<button type="button" key=${id} class="choice pick" style=${style} aria-label=${gettext("Choose {name}, answer {number}", {name: parseId(id).name, number})} onClick=${() => reader.choose(number - 1)}>${tag}</button>`
            : html`<span key=${id} class=${`choice ${look}`} style=${style}>${tag}</span>`;
        })}</div>`;
  }
}

/** The element of the picture that shows an object. */
function find(stage, id) {
  const all = [...stage.querySelectorAll("[data-entity], [data-pod]")];
  return all.find(({dataset}) => dataset.entity === id || dataset.pod === id) ?? null;
}
