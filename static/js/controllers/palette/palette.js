import {h, render} from "preact";

import {readJson} from "../../lib/api.js";
import {gettext} from "../../lib/words.js";
import {eventAsked, objectEntries} from "../../model/palette/palette.js";
import {offerPictures} from "../picture/pictures.js";
import {Palette} from "../../views/palette/palette.js";

/** Pages of the site, which the menu of a run does not have. */
const SITE = [
  [gettext("Home"), "/"],
  [gettext("Runs"), "/runs/"],
  [gettext("Stories"), "/stories/"],
  [gettext("Lessons"), "/lessons/"],
  [gettext("Versions"), "/versions/"],
  [gettext("Glossary"), "/glossary/"],
  [gettext("Concepts"), "/concepts/"],
];
// A field of the page that / leads to.
const HAS_OWN_FIELD = '[aria-keyshortcuts="/"]';
const WRITTEN_SELECTOR = "input, select, textarea, [contenteditable], dialog[open] *";

/** What pages add to the entries of all pages. @type {((query: string) => object[])[]} */
const sources = [];

/**
 * Open the palette with Ctrl-K, or with / where the page has no field of its own for it. `site` are the pages that it
 * offers beside those of the menu.
 */
export function connectPalette({site = SITE} = {}) {
  const host = document.createElement("div");
  document.body.append(host);
  const runs = newestRuns();
  const onClose = () => render(null, host);
  const draw = () => {
    const offered = (query) => [...sources.flatMap((source) => source(query)), ...siteEntries(site), ...runs.entries];
    render(h(Palette, {offered, onClose}), host);
  };
  const open = async () => {
    if (document.querySelector("dialog[open]")) return;
    draw();
    await runs.load();
    if (host.hasChildNodes()) draw();
  };
  addEventListener("keydown", (event) => {
    const isCommand = (event.ctrlKey || event.metaKey) && event.key === "k";
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey;
    const isSlash = event.key === "/" && isPlain && !document.querySelector(HAS_OWN_FIELD);
    const target = /** @type {Element} */ (event.target);
    if (event.defaultPrevented || !(isCommand || (isSlash && !target.closest(WRITTEN_SELECTOR)))) return;
    event.preventDefault();
    open();
  });
}

/** What there is on a page of a run: its objects, its events by number, and what is done with them. */
export function offerRun(session) {
  sources.push((query) => {
    const seq = eventAsked(query);
    const at = {
      title: `#${seq}`,
      about: gettext("go to the event of this number"),
      run: () => session.playhead.seek({seq}, {isJump: true}),
    };
    return [
      ...(seq === null ? [] : [at]),
      ...acts(session),
      ...objectEntries(session.model.entities, (id) => session.hrefOf(id)),
    ];
  });
}

/** @param {import("../session/run_session.js").RunSession} session */
function acts(session) {
  const toNewest = () => session.playhead.jumpToNewest({isJump: true});
  const copy = {
    title: gettext("Copy the link to this instant"),
    about: gettext("with the event and what is selected (key: c)"),
    run: () => copyLink(session),
  };
  return [
    ...(navigator.clipboard ? [copy] : []),
    {title: gettext("Play or pause"), about: gettext("key: Space"), run: () => session.playhead.togglePlay()},
    {title: gettext("Go to the newest event"), about: gettext("key: End"), run: toNewest},
  ];
}

/** Put the address of this page at the event shown into the clipboard, and say so. */
export async function copyLink(session) {
  const link = new URL(session.hrefAt(session.place.seq) || location.pathname, location.href);
  await navigator.clipboard.writeText(link.href);
  session.notices.say(gettext("The link to event {seq} is in the clipboard.", {seq: session.place.seq}));
}

/** The menu of the page and the list of runs, and the theme. */
function siteEntries(site) {
  const links = [...document.querySelectorAll("nav.tabs a")].map((link) => ({
    title: (link.firstChild?.textContent ?? "").trim(),
    about: gettext("page"),
    href: () => link.getAttribute("href"),
  }));
  for (const [title, address] of site) {
    if (!links.some((link) => link.title === title)) links.push({title, about: gettext("page"), href: () => address});
  }
  const theme = document.querySelector("#theme");
  const change = {
    title: gettext("Switch between light and dark"),
    about: gettext("theme"),
    run: () => theme instanceof HTMLElement && theme.click(),
  };
  const picture = {title: gettext("Save a picture"), about: gettext("of this page, or print it"), run: offerPictures};
  return [...links, change, picture];
}

/** The newest runs, asked for when the palette is first opened. */
function newestRuns() {
  const runs = {
    entries: [],
    isAsked: false,
    async load() {
      if (runs.isAsked) return;
      runs.isAsked = true;
      const found = await readJson("/api/v1/runs/");
      runs.entries = (found?.items ?? []).map(({id, name, profile}) => ({
        title: name,
        about: gettext("run {id}, {profile}", {id, profile}),
        href: () => `/runs/${id}/`,
      }));
    },
  };
  return runs;
}
