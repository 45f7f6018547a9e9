import {gettext} from "../lib/words.js";

/**
 * The pages that are in the file. `path` is what stands behind the #, `tab` the entry of the menu, `css` the style sheets
 * beside those of every page, `root` the attributes of the element that the page is drawn into, `look` a class of the body; `load` runs it.
 */
const PAGES = [
  {
    tab: "first-look",
    path: /^\/first-look\/$/,
    title: () => gettext("First look"),
    css: ["pages", "first_look"],
    root: () => ({id: "first-look"}),
    load: () => import("../first_look.js"),
  },
  {
    tab: "triage",
    path: /^\/triage\/$/,
    title: () => gettext("Triage"),
    css: ["pages", "triage"],
    root: () => ({id: "triage"}),
    load: () => import("../triage.js"),
  },
  {
    tab: "board",
    path: /^\/$/,
    title: () => gettext("Board"),
    css: ["board"],
    root: () => ({id: "board"}),
    load: () => import("../board.js"),
  },
  {
    tab: "board",
    path: /^\/film\/$/,
    title: () => gettext("Slow motion"),
    css: ["film", "film_parts"],
    root: () => ({id: "film"}),
    look: "filmpage",
    load: () => import("../film.js"),
  },
  {
    tab: "inside-scheduler",
    path: /^\/inside\/scheduler\/$/,
    title: () => gettext("Inside"),
    css: ["inside", "inside_cycle"],
    root: () => ({id: "inside"}),
    look: "insidepage",
    load: () => import("../inside_scheduler.js"),
  },
  {
    tab: "inside-scheduler",
    path: /^\/inside\/volumes\/$/,
    title: () => gettext("Inside"),
    css: ["inside"],
    root: () => ({id: "inside"}),
    look: "insidepage",
    load: () => import("../inside_volumes.js"),
  },
  {
    tab: "machines",
    path: /^\/machines\/$/,
    title: () => gettext("State machines"),
    css: ["machines"],
    root: () => ({id: "machines"}),
    load: () => import("../machines.js"),
  },
  {
    tab: "pods",
    path: /^\/pods\/$/,
    title: () => gettext("Pods"),
    css: ["pages", "pod"],
    root: () => ({id: "pods"}),
    load: () => import("../pods.js"),
  },
  {
    tab: "pods",
    path: /^\/pods\/(.+)\/$/,
    title: (name) => name,
    css: ["pages", "pod"],
    root: (name) => ({id: "pod", "data-pod": name}),
    load: () => import("../pod.js"),
  },
  {
    tab: "volumes",
    path: /^\/volumes\/$/,
    title: () => gettext("Volumes"),
    css: ["pages", "volumes"],
    root: () => ({id: "volumes"}),
    load: () => import("../volumes.js"),
  },
  {
    tab: "nodes",
    path: /^\/nodes\/$/,
    title: () => gettext("Nodes"),
    css: ["pages", "pod", "node"],
    root: () => ({id: "nodes"}),
    load: () => import("../nodes.js"),
  },
  {
    tab: "nodes",
    path: /^\/nodes\/(.+)\/$/,
    title: (name) => name,
    css: ["pages", "pod", "node"],
    root: (name) => ({id: "node", "data-node": name}),
    load: () => import("../node.js"),
  },
  {
    tab: "timeline",
    path: /^\/timeline\/$/,
    title: () => gettext("Timeline"),
    css: ["pages", "timeline"],
    root: () => ({id: "timeline"}),
    load: () => import("../timeline.js"),
  },
];

/** The tabs of every file. @type {[string, string][]} */
const TABS = [
  ["board", gettext("Board")],
  ["inside-scheduler", gettext("Inside")],
  ["machines", gettext("State machines")],
  ["pods", gettext("Pods")],
  ["volumes", gettext("Volumes")],
  ["nodes", gettext("Nodes")],
  ["timeline", gettext("Timeline")],
];

/** Those of a cluster as it was brought come first. @type {[string, string][]} */
const OF_BROUGHT = [
  ["first-look", gettext("First look")],
  ["triage", gettext("Triage")],
];

/** Pages that only the program has: how each begins, and its name. @type {[string, string][]} */
const ELSEWHERE = [
  ["/objects/", gettext("Manifest")],
  ["/compare/", gettext("Compare")],
  ["/configuration/", gettext("Configuration")],
];

/** The tabs of the menu. */
export function tabsOf(run) {
  return run.as_brought ? [...OF_BROUGHT, ...TABS] : TABS;
}

/** The page of a path: {tab, title, css, root, look, load}; null for one that is not in the file. */
export function pageAt(path) {
  for (const page of PAGES) {
    const found = page.path.exec(path);
    if (!found) continue;
    const name = nameIn(found[1] ?? "");
    if (name === null) continue;
    return {...page, title: page.title(name), root: page.root(name)};
  }
  return null;
}

/** The name of an object in a path; null where a % does not begin a sign. */
function nameIn(text) {
  try {
    return text.split("/").map(decodeURIComponent).join("/");
  } catch {
    return null;
  }
}

/** What a page that is not in the file is called; "" for one that does not exist at all. */
export function nameElsewhere(path) {
  return ELSEWHERE.find(([start]) => path.startsWith(start))?.[1] ?? "";
}
