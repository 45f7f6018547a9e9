import {html} from "../../lib/html.js";
import {insideStep} from "../../model/film/words.js";
import {count} from "../../model/shared/format.js";
import {Notice} from "../run/notice.js";
import {FilmBar} from "./bar.js";
import {FilmTransport} from "./film_transport.js";
import {Foot} from "./foot.js";
import {FilmInspector} from "./film_inspector.js";
import {FilmLanes} from "./film_lanes.js";
import {FilmNodes} from "./film_nodes.js";

/** One scheduling decision on the Board, slowly. */
export function FilmPage({player, copied, onCopy}) {
  const {session} = player;
  return html`
    <${FilmTransport} player=${player} />
    <${Notice} session=${session} />
    <${FilmBar} player=${player} copied=${copied} onCopy=${onCopy} />
    <${Board} player=${player} />`;
}

/** The page Inside at the step of the film. */
export function insideHref({session, film, step}) {
  const answer = film.value?.answer;
  if (!answer) return session.href("inside-scheduler");
  const place = {cycle: answer.cycle, pod: `pod/${answer.pod}`, seq: step.value.seq, step: insideStep(step.value)};
  return session.href("inside-scheduler", place);
}

function Board({player}) {
  const film = player.film.value;
  if (!film) return html`<main class="fm-board fm-empty" id="content" aria-busy=${player.held.value.status === "loading" ? "true" : undefined}><${Nothing} player=${player} /></main>`;
  const kind = film.isLarge ? "large" : "cycle";
  return html`
    <main class="fm-board" id="content" data-kind=${kind} aria-busy=${player.held.value.status === "loading" ? "true" : undefined}>
      <${FilmLanes} player=${player} />
      <div class="fm-mid"><${FilmNodes} player=${player} /><${Foot} player=${player} /></div>
      <${FilmInspector} player=${player} inside=${insideHref(player)} />
    </main>`;
}

/** Why there is no film yet. */
function Nothing({player}) {
  const {status, message} = player.held.value;
  const number = player.wanted.value?.cycle ?? null;
  if (status === "failed")
    return html`<div role="alert" class="fm-why"><h2>This film cannot be shown</h2><p class="small">${message}</p>
      <p class="does"><button class="btn primary" type="button" onClick=${() => player.retry()}>Compute again</button></p></div>`;
  return html`<p class="fm-why small mute" role="status">${number === null ? "Reading the newest cycle…" : `Reading cycle ${count(number)}…`}</p>`;
}
