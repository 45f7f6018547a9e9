import {RunApi} from "./lib/api.js";
import {author, count, moment} from "./model/format.js";
import {parseSeconds} from "./model/timeline.js";

const PAGE = 200;

const page = document.querySelector("main[data-run]");
const form = document.querySelector("#filters");
const body = document.querySelector("#events");
const more = document.querySelector("#more");
const note = document.querySelector("#note");
const api = new RunApi(page.dataset.run);
let next = null;
let shown = 0;

/** What the form asks for, as parameters of the events resource; times in ns there. */
function filters() {
  const asked = Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, value.trim()]));
  for (const name of ["from", "to"]) {
    asked[name] = asked[name] === "" ? "" : parseSeconds(asked[name]) ?? "";
  }
  return asked;
}

async function load(cursor) {
  note.textContent = "Reading events…";
  const asked = filters();
  // The cursor is the last seq shown: what comes next lies beyond it in the order asked for.
  const beyond = cursor === null ? {} : {[asked.order === "asc" ? "after" : "before"]: cursor};
  try {
    const answer = await api.get("events/", {...asked, ...beyond, limit: PAGE});
    if (cursor === null) {
      body.replaceChildren();
      shown = 0;
    }
    for (const event of answer.events) body.append(row(event));
    shown += answer.events.length;
    // A page that is not full is the last one of a run that stands still.
    next = answer.events.length < PAGE ? null : answer.events.at(-1).seq;
    more.hidden = next === null;
    note.textContent = shown === 0 ? "No event matches." : `${count(shown)} shown`;
    document.querySelector("#extent").textContent = answer.highest ? `${count(answer.highest)} events in all` : "";
  } catch (error) {
    note.textContent = error.message;
  }
}

function row(event) {
  const line = document.createElement("tr");
  const cell = (className, ...content) => {
    const element = line.insertCell();
    element.className = className;
    element.append(...content);
    return element;
  };
  cell("mono", link(`/runs/${page.dataset.run}/?seq=${event.seq}`, String(event.seq), "Open the board at this event"));
  cell("num mute", moment(event.at));
  const by = document.createElement("span");
  by.className = "by";
  by.style.setProperty("--b", `var(--by-${event.component}, var(--held))`);
  cell("", by, author(event.component)).title = event.component;
  cell("", about(event)).title = event.object ?? "";
  const kind = document.createElement("b");
  kind.className = "kind";
  kind.textContent = event.kind;
  const message = document.createElement("span");
  message.className = "soft";
  message.textContent = event.message ?? "";
  cell("", kind, " ", message);
  return line;
}

/** The object of an event; a pod leads to its page as it was then. */
function about({object, seq}) {
  if (!object?.startsWith("pod/")) return object ?? "";
  const path = object.slice("pod/".length);
  return link(`/runs/${page.dataset.run}/pods/${path}/?seq=${seq}`, object, "Open the pod at this event");
}

function link(href, text, title) {
  const element = document.createElement("a");
  Object.assign(element, {href, textContent: text, title});
  return element;
}

/** The exports hold what the filters let through, the oldest first. */
function aimExports() {
  const {order, ...asked} = filters();
  void order;
  for (const element of document.querySelectorAll("a[data-format]")) {
    element.href = api.url("events/", {...asked, format: element.dataset.format});
  }
}

function fillForm() {
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = form.elements.namedItem(name);
    if (field) field.value = value;
  }
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  const kept = [...new FormData(form)].filter(([, value]) => value !== "");
  history.replaceState(null, "", `?${new URLSearchParams(kept)}`);
  aimExports();
  load(null);
});
more.addEventListener("click", () => load(next));
fillForm();
aimExports();
load(null);
