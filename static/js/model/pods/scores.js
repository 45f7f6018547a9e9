import {gettext} from "../../lib/words.js";
import {bestFirst} from "./verdict.js";

/**
 * The arithmetic of an attempt's scores for its best `most` nodes.
 *
 * `nodes` are {name, total, chosen}; `rows` are {plugin, parts}, a part {raw, normalized, weight,
 * weighted, share} per node, with `share`
 * the length of its bar, 0…1. `ahead` is the lead of the best node, `others` the number of nodes not shown.
 * `choice` says how the node was chosen among equals. Null if nothing was scored.
 */
export function scoresOf(evidence, most) {
  const ranked = bestFirst(evidence);
  if (ranked.length === 0) return null;
  const shown = ranked.slice(0, most);
  const plugins = Object.keys(evidence.weights ?? shown[0][1].plugins);
  const highest = scaleOf(
    plugins.map((plugin) => Math.max(0, ...shown.map(([, {plugins: of}]) => of[plugin]?.[2] ?? 0))),
  );
  const rows = plugins.map((plugin) => ({
    plugin,
    parts: shown.map(([, {plugins: of}]) => partOf(of[plugin] ?? [0, 0, 0], evidence.weights?.[plugin], highest)),
  }));
  return {
    rows,
    nodes: shown.map(([name, {total}]) => ({name, total, chosen: name === evidence.node})),
    ahead: ranked.length > 1 ? ranked[0][1].total - ranked[1][1].total : null,
    others: ranked.length - shown.length,
    unscored: evidence.not_scored ?? [],
    choice: choiceOf(evidence),
  };
}

/** How the node was chosen among those with the best score; "" if there was only one. */
export function choiceOf({tied, tie_break: way}) {
  const equal = tied?.length ?? 0;
  if (equal < 2) return "";
  if (way === "name") return gettext("first by name of {equal} equal scores", {equal});
  if (way === "turn") return gettext("its turn among {equal} equal scores", {equal});
  return gettext("chosen at random among {equal} equal scores", {equal});
}

/** A plugin with scores so much higher does not set the scale: NodePreferAvoidPods gives 1,000,000. */
const OUT_OF_SCALE = 100;

/** The score that fills a bar, from the highest score of each plugin; higher scores fill their bars too. */
function scaleOf(highest) {
  const ranked = [...highest].sort((a, b) => b - a);
  while (ranked.length > 1 && ranked[1] > 0 && ranked[0] > OUT_OF_SCALE * ranked[1]) ranked.shift();
  return Math.max(1, ranked[0]);
}

function partOf([raw, normalized, weighted], weight, highest) {
  const times = weight ?? (normalized ? weighted / normalized : 1);
  return {raw, normalized, weighted, weight: times, share: Math.min(1, Math.max(0, weighted) / highest)};
}
