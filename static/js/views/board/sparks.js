import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";
import {fixed} from "../../model/shared/format.js";

const SERIES = [
  {title: gettext("Bound per s"), column: 1, family: "settled", digits: 0},
  {title: gettext("Active"), column: 2, family: "ready", digits: 0},
  {title: gettext("Backoff"), column: 3, family: "clock", digits: 0},
  {title: gettext("Unschedulable"), column: 4, family: "stuck", digits: 0},
];

/** The queues over the last 20 s of virtual time. */
export function Sparks({session}) {
  const {counters, at} = session.model;
  return html`
    <section class="sparks" data-picture=${gettext("Counters")} aria-label=${gettext("Counters")}><h2 title=${gettext("The last 20 seconds of virtual time")}>${gettext("Last 20 s")}</h2>
      ${SERIES.map((series) => html`<${Spark} key=${series.title} ...${series} values=${counters.series(series.column, at)} />`)}
    </section>`;
}

function Spark({title, family, digits, values}) {
  const now = values.at(-1);
  const text = now === null ? gettext("unknown") : fixed(now, now >= 100 ? 0 : digits);
  const line = path(values);
  return html`
    <div class="spark"><span>${title}</span>${
      now === null
        ? html`<span class="mute" title=${gettext("The page was opened in the middle of a long run")}>${text}</span>`
        : html`<b>${text}</b>`
    }
      <svg viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label=${spoken(title, now, text)}>
        ${
          line &&
          html`<path d=${line.area} fill=${`var(--${family})`} opacity=".12" />
        <path d=${line.stroke} fill="none" stroke=${`var(--${family})`} stroke-width="1.4" vector-effect="non-scaling-stroke" />`
        }
      </svg></div>`;
}

function spoken(title, now, number) {
  return now === null ? gettext("{title}, now unknown", {title}) : gettext("{title}, now {number}", {title, number});
}

/** Unknown values at the beginning are left out, not drawn as 0. */
function path(values) {
  const first = values.findIndex((value) => value !== null);
  if (first < 0) return null;
  const highest = Math.max(1, ...values.filter((value) => value !== null)) * 1.08;
  const points = values.slice(first).map((value, i) => {
    const x = ((first + i) / (values.length - 1)) * 100;
    return `${x.toFixed(1)} ${(23 - ((value ?? 0) / highest) * 21.5).toFixed(1)}`;
  });
  const stroke = `M${points.join(" L")}`;
  const start = ((first / (values.length - 1)) * 100).toFixed(1);
  return {stroke, area: `${stroke} L100 23 L${start} 23 Z`};
}
