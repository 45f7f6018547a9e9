import {gettext} from "../../lib/words.js";
import {render} from "preact";

import {html} from "../../lib/html.js";
import {isStale, listedRuns} from "../../model/run/run_list.js";
import {Histogram} from "../../model/run/timeline.js";
import {count, timeText} from "../../model/shared/format.js";
import {Drawing, RunStatus, Trend} from "../../views/run/run_list.js";

const REFRESH_MS = 2000;

/**
 * Keeps the rows of the list of runs up to date while the page is visible.
 *
 * The server draws the rows; `rows` maps the id of a run to its row, in which the cells to refresh have
 * a `data-field`; a short list has not all of them. `read(path)` gives the JSON at an address below /api/v1/runs/, or null where it cannot be read.
 */
export class RunList {
  constructor(rows, read) {
    this.rows = rows;
    this.read = read;
    /** The run that each row was drawn from, by id. */
    this.drawn = new Map();
  }

  start() {
    this.refresh();
    setInterval(() => this.refresh(), REFRESH_MS);
  }

  async refresh() {
    if (document.hidden || this.rows.size === 0) return;
    const answer = await this.read("");
    // The rows stay as they are until the next answer.
    if (!answer) return;
    for (const run of listedRuns(answer)) {
      const row = this.rows.get(String(run.id));
      if (!row || !isStale(run, this.drawn.get(run.id))) continue;
      this.drawn.set(run.id, run);
      await this.#draw(run, row);
    }
  }

  async #draw(run, row) {
    const cell = (field) => row.querySelector(`[data-field=${field}]`);
    write(cell("at"), timeText(run.head_at));
    write(cell("head"), count(run.head));
    replace(cell("status"), html`<${RunStatus} status=${run.status} worker=${run.worker} />`);
    if (cell("drawing")) await this.#drawWhole(run, cell("drawing"));
    if (!cell("trend")) return;
    const answer = await this.read(`${run.id}/histogram/?buckets=40`);
    if (!answer) return;
    const histogram = new Histogram();
    histogram.reset(answer);
    replace(
      cell("trend"),
      html`<${Trend} histogram=${histogram} title=${gettext("Events of {name}", {name: run.name})} />`,
    );
  }

  /** The pods and claims of the run in time. */
  async #drawWhole(run, cell) {
    const drawing = await this.read(`${run.id}/drawing/`);
    const title = gettext("Pods and claims of {name} in time", {name: run.name});
    if (drawing) replace(cell, html`<${Drawing} ...${drawing} title=${title} />`);
  }
}

/** Write into a cell, where the list has it. */
function write(cell, text) {
  if (cell) cell.textContent = text;
}

/** Draw into a cell that the server filled first. */
function replace(cell, drawing) {
  if (!cell.dataset.live) cell.replaceChildren();
  cell.dataset.live = "yes";
  render(drawing, cell);
}
