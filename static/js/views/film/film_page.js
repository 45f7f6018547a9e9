import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {insideOf} from "../../model/film/places.js";
import {count} from "../../model/shared/format.js";
import {Notice} from "../run/notice.js";
import {FilmBar} from "./bar.js";
import {ClaimBoard, ClaimPods} from "./claim_board.js";
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
  if (!film.value) return session.href("inside-scheduler");
  const {page, place} = insideOf(film.value, step.value);
  return session.href(page, {...place, seq: step.value.seq});
}

function Board({player}) {
  const film = player.film.value;
  if (!film)
    return html`<main class="fm-board fm-empty" id="content" aria-busy=${player.held.value.status === "loading" ? "true" : undefined}><${Nothing} player=${player} /></main>`;
  const isClaim = film.kind === "claim";
  const kind = isClaim ? "claim" : film.isLarge ? "large" : "cycle";
  return html`
    <main class="fm-board" id="content" data-kind=${kind} aria-busy=${player.held.value.status === "loading" ? "true" : undefined}>
      ${isClaim ? html`<${ClaimPods} player=${player} />` : html`<${FilmLanes} player=${player} />`}
      <div class="fm-mid">${isClaim ? html`<${ClaimBoard} player=${player} />` : html`<${FilmNodes} player=${player} /><${Foot} player=${player} />`}</div>
      <${FilmInspector} player=${player} inside=${insideHref(player)} />
    </main>`;
}

/** Why there is no film yet. */
function Nothing({player}) {
  const {status, message} = player.held.value;
  const number = player.wanted.value?.cycle ?? null;
  if (status === "failed")
    return html`<div role="alert" class="fm-why"><h2>${gettext("This film cannot be shown")}</h2><p class="small">${message}</p>
      <p class="does"><button class="btn primary" type="button" onClick=${() => player.retry()}>${gettext("Compute again")}</button></p></div>`;
  const claim = player.wanted.value?.claim;
  if (claim) return html`<p class="fm-why small mute" role="status">${gettext("Reading claim {claim}…", {claim})}</p>`;
  return html`<p class="fm-why small mute" role="status">${number === null ? gettext("Reading the newest cycle…") : gettext("Reading cycle {number}…", {number: count(number)})}</p>`;
}
