/**
 * The nodes of a large cluster at a step, as one letter for each: "f" fits, "x" is refused, "." was not looked at, "n" is
 * where the search is now, "a" is where the pod is assumed, "-" is pale because another reason is picked.
 */

/** The cells of all nodes by name: {cell, ring}. A node that is not in it was not looked at. */
export function cellsOf({answer}, picture, only) {
  const cells = new Map();
  const {front, far} = picture;
  if (!front) return ringed(cells, answer, picture);
  const search = answer.filter.searches[front.search];
  const isDecided = far.scored !== undefined || far.tied !== undefined;
  search.nodes.slice(0, front.upto).forEach(({node, refusal}, place) => {
    const isPale = only === null ? isDecided && refusal >= 0 : refusal !== only;
    const isFront = !isDecided && place === front.upto - 1;
    cells.set(node, {cell: isFront ? "n" : isPale ? "-" : refusal < 0 ? "f" : "x", ring: isFront});
  });
  return ringed(cells, answer, picture);
}

/** Rings around the start of the search, the tied nodes and the chosen one. */
function ringed(cells, {order, host}, {far, shows}) {
  const start = order?.searched.order[0];
  if (start !== undefined && far.tied === undefined) cells.set(start, {cell: ".", ...cells.get(start), ring: true});
  const tied = far.tied === undefined ? [] : far.chosen === undefined ? host.tied : [far.chosen];
  for (const node of tied) cells.set(node, {cell: "f", ring: true});
  if (shows === "board" && far.chosen !== undefined) cells.set(far.chosen, {cell: "a", ring: true});
  return cells;
}
