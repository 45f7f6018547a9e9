import {bestFirst} from "./verdict.js";

/**
 * The arithmetic of an attempt's scores for its best `most` nodes.
 *
 * `nodes` are {name, total, chosen}; `rows` are {plugin, parts}, a part {raw, normalized, weight,
 * weighted, share} per node, `share` of the highest weighted score of all. `ahead` is by how much the
 * best leads, `others` how many nodes are not shown. Null where nothing was scored.
 */
export function scoresOf(evidence, most) {
  const ranked = bestFirst(evidence);
  if (ranked.length === 0) return null;
  const shown = ranked.slice(0, most);
  const plugins = Object.keys(evidence.weights ?? shown[0][1].plugins);
  const highest = Math.max(1, ...shown.flatMap(([, {plugins: of}]) => Object.values(of).map((parts) => parts[2])));
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
    tied: evidence.tied?.length ?? 0,
  };
}

function partOf([raw, normalized, weighted], weight, highest) {
  const times = weight ?? (normalized ? weighted / normalized : 1);
  return {raw, normalized, weighted, weight: times, share: Math.max(0, weighted) / highest};
}
