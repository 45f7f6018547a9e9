/** What a cycle would have decided, had its pod asked for another amount, as lines over the amounts. */
import {gettext, listText, ngettext} from "../../lib/words.js";
import {amount as amountText, count, parseId} from "../shared/format.js";

const LINES = 3;
/** Room above and below the lines, in parts of the range of totals. */
const MARGIN = 0.1;

/** What was decided for the amount that is looked at; the recorded one if it is null. */
export function supposedAt({supposed, asked}, amount) {
  return supposed.find((each) => each.amount === (amount ?? asked)) ?? null;
}

/** The cycle as it would have been told with that amount. */
export function supposedCycle({score, tied}) {
  return {score, host: tied.length > 0 ? {node: tied[0], tied} : null};
}

/**
 * The lines of the plot, those of nodes that win most often first: {lines: [{nodes, isBest, points: [[amount, total], …]}],
 * lowest, highest}. Nodes that are equal at every amount have one line.
 */
export function linesOf({supposed}) {
  const compared = supposed.filter(({score}) => score?.is_compared);
  const wins = new Map();
  for (const {tied, score} of compared) {
    for (const {node} of score.nodes) wins.set(node, (wins.get(node) ?? 0) + Number(tied.includes(node)));
  }
  const equal = new Map();
  for (const [node] of [...wins].toSorted((one, other) => other[1] - one[1])) {
    const points = pointsOf(compared, node);
    const key = JSON.stringify(points);
    equal.set(key, {points, nodes: [...(equal.get(key)?.nodes ?? []), node]});
  }
  const lines = [...equal.values()].slice(0, LINES).map((line, place) => ({...line, isBest: place === 0}));
  const totals = lines.flatMap(({points}) => points.map(([, total]) => total));
  return {lines, lowest: Math.min(...totals), highest: Math.max(...totals)};
}

function pointsOf(compared, node) {
  return compared.flatMap(({amount, score}) => {
    const found = score.nodes.find((each) => each.node === node);
    return found ? [[amount, found.total]] : [];
  });
}

/** The names of the nodes of a line: "node-a2 = node-c1". */
export function lineName({nodes}) {
  const [first, second, ...others] = nodes;
  if (!second) return first;
  return others.length === 0
    ? `${first} = ${second}`
    : ngettext("{first} and {count} more", "{first} and {count} more", nodes.length - 1, {first});
}

/** Places in a box: `x` of an amount, `y` of a total. */
export function scalesOf({supposed}, {lowest, highest}, {left, width, top, height}) {
  const most = supposed.at(-1).amount;
  const range = Math.max(1, highest - lowest);
  const [low, span] = [lowest - range * MARGIN, range * (1 + 2 * MARGIN)];
  return {
    x: (amount) => left + (amount / most) * width,
    y: (total) => top + (1 - (total - low) / span) * height,
  };
}

/** What would have come of the amount, in a sentence. */
export function supposedWords({tied, fits, refused}) {
  if (fits === 0)
    return refused.length > 0
      ? gettext("No node would fit: {reasons}.", {reasons: listText(refused)})
      : gettext("No node would fit: none is left.");
  if (fits === 1) return gettext("Only {node} would fit, so nothing would be scored.", {node: tied[0]});
  if (tied.length > 1)
    return gettext("{nodes} would tie, of {fits} that fit.", {
      nodes: listText(tied.slice(0, LINES)),
      fits: count(fits),
    });
  return gettext("{node} would win, of {fits} that fit.", {node: tied[0], fits: count(fits)});
}

/** How a fork tries the amount: {id, commands, trial}, or null where no node would fit. */
export function trialOf({pod, resource, asked}, {amount, tied, fields}) {
  if (tied.length === 0) return null;
  const id = `pod/${pod}`;
  const order = gettext("{name} asks for {amount} instead of {before}", {
    name: parseId(id).name,
    amount: amountText(resource, amount),
    before: amountText(resource, asked),
  });
  // eslint-disable-next-line words/catalogue, words/whole -- kept in the run, and compared with what the engine says
  const end = tied.length === 1 ? {node: tied[0]} : {outcome: `it is bound to ${tied.join(" or ")}`};
  return {id, commands: [{verb: "patch", object: id, patch: {spec: fields}}], trial: {order, at: null, ...end}};
}

/** How a fork takes another one of the tied nodes. */
export function otherNode(pod, node) {
  const id = `pod/${pod}`;
  return {
    id,
    commands: [{verb: "bind", object: id, node}],
    trial: {order: gettext("bind {name} to {node}", {name: parseId(id).name, node}), at: null, node},
  };
}
