/** The file that plays offline: one document with the pages of a run, of which the part of its address behind the # shows one. */
import {render} from "preact";

import {connectPalette} from "../controllers/palette/palette.js";
import {connectPictures} from "../controllers/picture/pictures.js";
import {connectMenus} from "../controllers/site/menu.js";
import {connectTheme} from "../controllers/site/theme.js";
import {element, given} from "../lib/dom.js";
import {html} from "../lib/html.js";
import {gettext} from "../lib/words.js";
import {placeIn} from "./address.js";
import {Elsewhere, TopBar} from "./frame.js";
import {nameElsewhere, pageAt} from "./pages.js";

const {path} = placeIn(location.hash);
const page = pageAt(path);
const run = given("#run-data");
const heading = given("#heading");

render(html`<${TopBar} run=${run} heading=${heading} tab=${page?.tab ?? ""} />`, element("#topbar"));
if (run.question) element("#place").before(questionOf(run));
connectTheme(element("#theme"));
connectMenus(document);
connectPalette({site: []});
connectPictures();
followAddress();
show();

function show() {
  document.title = `${page?.title ?? nameElsewhere(path)} · ${run.name} · kscope`;
  document.body.className = page ? (page.look ?? `${page.root.id}-page`) : "";
  for (const name of page?.css ?? ["pages"]) wear(name);
  if (!page) {
    const place = element("#place");
    place.classList.add("elsewhere");
    place.replaceChildren();
    render(html`<${Elsewhere} name=${nameElsewhere(path)} />`, place);
    return;
  }
  // Pages lay out what stands directly in the body.
  const root = document.createElement("div");
  for (const [name, value] of Object.entries(page.root)) root.setAttribute(name, value);
  element("#place").replaceWith(root);
  void page.load();
}

function questionOf({question}) {
  const aside = document.createElement("aside");
  aside.className = "question";
  aside.setAttribute("aria-label", gettext("Question of the run"));
  aside.textContent = question;
  return aside;
}

/** The style sheets of other pages lie there unused: two pages may style the same name. */
function wear(name) {
  element(`style[data-css="${name}"]`, {kind: HTMLStyleElement}).media = "all";
}

/** Another page is a new document, as it is on a server: what the old one listened to and waited for goes with it. */
function followAddress() {
  let isFollowed = false;
  history.scrollRestoration = "manual";
  addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a[href^='#']") : null;
    const address = link?.getAttribute("href") ?? "";
    isFollowed = address.startsWith("#/");
    if (!link || isFollowed) return;
    // A place on this page has no address of its own.
    event.preventDefault();
    document.querySelector(address)?.scrollIntoView();
  });
  addEventListener("hashchange", () => {
    if (isFollowed || placeIn(location.hash).path !== path) location.reload();
  });
}
