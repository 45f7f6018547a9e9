import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {statusLook, trendBars} from "../../model/run/run_list.js";
import {Mark} from "../shared/mark.js";

const TREND = {width: 160, height: 20};

/** The status of a run: its mark and the word, and whether it waits for a worker. */
export function RunStatus({status, worker}) {
  const [mark, family] = statusLook(status);
  const words = worker === "waiting" ? gettext("{status}, waiting for a worker", {status}) : status;
  return html`<span class="state"><${Mark} name=${mark} family=${family} />${words}</span>`;
}

/** The number of events over the time of a run, as bars; `title` names it. */
export function Trend({histogram, title}) {
  const {width, height} = TREND;
  return html`<svg data-picture=${title} viewBox=${`0 0 ${width} ${height}`} aria-hidden="true">
    ${trendBars(histogram.bars(), width, height).map(
      (bar, i) =>
        html`<rect key=${i} x=${bar.x.toFixed(1)} y=${bar.y.toFixed(1)} width=${bar.width.toFixed(1)} height=${bar.height.toFixed(1)} />`,
    )}</svg>`;
}

/** A run as a small picture; `shapes` are of /api/v1/runs/RUN/drawing/, and `title` names it. */
export function Drawing({width, height, shapes, title}) {
  return html`<svg class="th" data-picture=${title} viewBox=${`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
    ${shapes.map(
      ([look, x, y, across, down], i) =>
        html`<rect key=${i} class=${look} x=${x} y=${y} width=${across} height=${down} />`,
    )}</svg>`;
}
