/** The scores of a cycle: bars, and the arithmetic of each plugin on each node. */
import {gettext} from "../../lib/words.js";
import {bytes, fixed} from "../shared/format.js";

const MOST_NODES = 10;
/** A part that is the same for all nodes is drawn at most so many times as long as what differs. */
const LONGEST_SAME = 3;

/**
 * {nodes, plugins, others, same}: the best nodes, the one that was taken first among equals, as {node, total, isBest,
 * isChosen, scores}; the plugins in order as {…, place, isSame} with whether all nodes have the same from them; how
 * many nodes are not shown, and the points that are the same for all.
 */
export function scoresOf({score, host}) {
  const ranked = score.nodes.toSorted(
    (one, other) => other.total - one.total || isChosen(other, host) - isChosen(one, host),
  );
  const best = ranked[0]?.total ?? 0;
  const nodes = ranked.slice(0, MOST_NODES).map((node) => ({
    ...node,
    isBest: node.total === best,
    isChosen: isChosen(node, host) === 1,
  }));
  const plugins = score.plugins.map((plugin, place) => ({
    ...plugin,
    place,
    isSame: score.nodes.every(({scores}) => scores[place].weighted === score.nodes[0].scores[place].weighted),
  }));
  const same = plugins
    .filter(({isSame}) => isSame)
    .reduce((sum, {place}) => sum + (score.nodes[0]?.scores[place].weighted ?? 0), 0);
  return {nodes, plugins, others: ranked.length - nodes.length, same};
}

function isChosen({node}, host) {
  return Number(node === host?.node);
}

/** The bars: for each node [{plugin, share}], in parts of the longest; the same for all comes first, cut if it is long. */
export function barsOf({nodes, plugins, same}) {
  const differing = plugins.filter(({isSame}) => !isSame);
  const longest = Math.max(1, ...nodes.map(({total}) => total - same));
  const pale = Math.min(Math.max(0, same), LONGEST_SAME * longest);
  const share = (value) => Math.max(0, value) / (pale + longest);
  return {
    isCut: pale < same,
    differing,
    rows: nodes.map(({scores}) => [
      {plugin: "", share: share(pale)},
      ...differing.map(({plugin, place}) => ({plugin, share: share(scores[place].weighted)})),
    ]),
  };
}

/**
 * The lines of a plugin's score of a node, [text, number]: its terms, the raw score, and what that weighs. `shown` is
 * null for a node whose terms are not told.
 */
export function linesOf({shown, raw, normalized, weighted}, {weight, normalizes}) {
  const terms = termLines(shown?.terms ?? []);
  const rawLine = normalizes || terms.length === 0 ? [[gettext("raw"), String(raw)]] : [];
  const last = normalizes ? gettext("normalised {normalized}, × {weight}", {normalized, weight}) : `${raw} × ${weight}`;
  return [...terms, ...rawLine, [last, String(weighted)]];
}

// eslint-disable-next-line words/catalogue -- what the engine calls a term
const USED = " used with the pod";

/** A resource's use, allocatable and score are one line: "cpu 2950m / 4000m", 26. */
function termLines(terms) {
  const lines = [];
  for (let place = 0; place < terms.length; place += 1) {
    const {name, value, unit} = terms[place];
    const resource = name.endsWith(USED) ? name.slice(0, -USED.length) : "";
    const [whole, score] = terms.slice(place + 1, place + 3);
    if (resource && whole?.name === `${resource} allocatable`) {
      const scores = score?.name === `${resource} score`;
      const part = `${resource} ${amountOf(resource, value, unit)} / ${amountOf(resource, whole.value, unit)}`;
      lines.push([part, scores ? String(score.value) : shareOf(value, whole.value)]);
      place += scores ? 2 : 1;
    } else {
      lines.push([name, amountOf(name, value, unit)]);
    }
  }
  return lines;
}

function shareOf(part, whole) {
  return whole === 0 ? "–" : fixed(part / whole, 4);
}

function amountOf(name, value, unit) {
  const isBytes = unit === "B" || (unit === "" && /^(memory|ephemeral-storage|hugepages-\S+)$/.test(name));
  return isBytes ? bytes(value) : `${value}${unit}`;
}
