import {Histogram} from "./model/timeline.js";
import {count, moment} from "./model/format.js";

const REFRESH_MS = 2000;
const DRAWN = 12;
const SVG = "http://www.w3.org/2000/svg";

const LOOK = {
  playing: ["in-flight", "working"],
  paused: ["gated", "held"],
  finished: ["vbound", "settled"],
  failed: ["failed", "stuck"],
};

const rows = new Map([...document.querySelectorAll("tr[data-run]")].map((row) => [row.dataset.run, row]));
const drawn = new Map();

/** Keep the list of runs as it is on the server, for as long as someone looks at it. */
async function refresh() {
  if (document.hidden || rows.size === 0) return;
  const response = await fetch("/api/runs/").catch(() => null);
  // The next time will do; what stands in the list is as of the last.
  if (!response?.ok) return;
  const listed = await response.json();
  const runs = listed.results ?? listed.runs ?? listed;
  for (const run of runs.slice(0, DRAWN)) {
    const row = rows.get(String(run.id));
    if (!row || drawn.get(run.id) === `${run.head} ${run.status}`) continue;
    drawn.set(run.id, `${run.head} ${run.status}`);
    row.querySelector("[data-field=at]").textContent = `${moment(run.head_at)} s`;
    row.querySelector("[data-field=head]").textContent = count(run.head);
    row.querySelector("[data-field=status]").replaceChildren(state(run.status));
    await trend(run.id, row.querySelector("[data-field=trend]"));
  }
}

async function trend(id, cell) {
  const response = await fetch(`/api/runs/${id}/histogram/?buckets=40`).catch(() => null);
  if (!response?.ok) return;
  const histogram = new Histogram();
  histogram.reset(await response.json());
  const picture = document.createElementNS(SVG, "svg");
  picture.setAttribute("viewBox", "0 0 160 20");
  picture.setAttribute("aria-hidden", "true");
  for (const {x, width, height} of histogram.bars()) {
    const bar = document.createElementNS(SVG, "rect");
    const tall = Math.max(1, height * 20);
    for (const [name, value] of Object.entries({x: x * 160, y: 20 - tall, width: width * 128, height: tall})) {
      bar.setAttribute(name, value.toFixed(1));
    }
    picture.append(bar);
  }
  cell.replaceChildren(picture);
}

function state(status) {
  const [mark, family] = LOOK[status] ?? LOOK.paused;
  const element = document.createElement("span");
  element.className = "state";
  element.innerHTML = `<svg class="mk f-${family}" viewBox="0 0 12 12" aria-hidden="true"><use href="#${mark}"/></svg>`;
  element.append(status);
  return element;
}

/** Files may be dropped on the form as well as chosen. */
for (const form of document.querySelectorAll(".drop")) {
  const over = (event, is) => {
    event.preventDefault();
    form.classList.toggle("over", is);
  };
  form.addEventListener("dragover", (event) => over(event, true));
  form.addEventListener("dragleave", (event) => over(event, false));
  form.addEventListener("drop", (event) => {
    over(event, false);
    form.querySelector("input[type=file]").files = event.dataTransfer.files;
  });
}

refresh();
setInterval(refresh, REFRESH_MS);
