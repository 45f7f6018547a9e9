import {signal} from "@preact/signals";
import {render} from "preact";

import {FilmPlayer} from "./controllers/film/film_player.js";
import {connectFilmKeys} from "./controllers/film/keys.js";
import {tellPlace} from "./controllers/picture/pictures.js";
import {Address} from "./controllers/session/address.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {gettext} from "./lib/words.js";
import {FilmPage, insideHref} from "./views/film/film_page.js";

const root = element("#film");
const session = startRunPage(root, new Address(), {hasPlayback: false});
const reduced = matchMedia("(prefers-reduced-motion: reduce)");
const calm = signal(reduced.matches);
reduced.addEventListener("change", () => {
  calm.value = reduced.matches;
});
const player = new FilmPlayer(session, {calm});

/** What the button says for a moment after the link was copied. */
const copied = signal("");

async function copyLink() {
  const isCopied = await navigator.clipboard.writeText(location.href).then(
    () => true,
    () => false,
  );
  copied.value = isCopied ? gettext("Copied") : gettext("It is the address of this page");
}

connectFilmKeys(player, {openInside: () => session.address.open(insideHref(player)), copyLink});
render(html`<${FilmPage} player=${player} copied=${copied} onCopy=${copyLink} />`, root);
addEventListener("popstate", () => player.revisit());
tellPlace(() => ({
  run: session.run.value,
  ...(player.film.value ? {seq: player.model.seq, at: player.clock.value} : {}),
}));
player.start();
session.start();
