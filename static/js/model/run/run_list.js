/** The number of runs whose trend is drawn; each costs one request. */
const DRAWN = 12;

/** Mark and colour family of a run's status. */
const LOOK = {
  playing: ["in-flight", "working"],
  paused: ["gated", "held"],
  finished: ["vbound", "settled"],
  failed: ["failed", "stuck"],
};

/** The mark and the colour family of a run with this status. */
export function statusLook(status) {
  return LOOK[status] ?? LOOK.paused;
}

/** The runs in the answer of /api/v1/runs/, the newest first and no more than are drawn. */
export function listedRuns(answer) {
  return answer.items.slice(0, DRAWN);
}

/** Whether the row of a run is out of date; `drawn` is the run it was drawn from, if any. */
export function isStale(run, drawn) {
  return !drawn || drawn.head !== run.head || drawn.status !== run.status || drawn.worker !== run.worker;
}

/** The bars of a trend in a picture of *width* × *height*, from the bars of a histogram (0 to 1). */
export function trendBars(bars, width, height) {
  return bars.map((bar) => {
    const tall = Math.max(1, bar.height * height);
    return {x: bar.x * width, y: height - tall, width: bar.width * width * 0.8, height: tall};
  });
}
