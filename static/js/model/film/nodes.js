/** Nodes of a picture, changed as values. */

/** All nodes of a cycle, in the order of the search. */
export function namesOf({order, filter}) {
  return order?.searched.order ?? (filter?.searches ?? []).flatMap(({nodes}) => nodes.map(({node}) => node));
}

/** The picture with some of its nodes changed; a node that it does not draw stays out of it. */
export function withNodes(picture, changes) {
  const known = Object.entries(changes).filter(([name]) => picture.nodes[name]);
  const changed = known.map(([name, change]) => [name, {...picture.nodes[name], ...change}]);
  return {...picture, nodes: {...picture.nodes, ...Object.fromEntries(changed)}};
}

/** The picture with each of its nodes changed by `change(node, name)`. */
export function mapNodes(picture, change) {
  const nodes = Object.entries(picture.nodes).map(([name, node]) => [name, {...node, ...change(node, name)}]);
  return {...picture, nodes: Object.fromEntries(nodes)};
}

/** The picture with what was lit put out: a node keeps whether it fits. */
export function rested(picture) {
  return mapNodes(picture, ({look, fits, why}) => {
    const isLit = look === "lit" || look === "copied";
    return {asks: false, look: isLit ? (fits ? "fits" : why ? "out" : "") : look};
  });
}

/** The picture with more known of how many nodes are left. */
export function withFar(picture, far) {
  return {...picture, far: {...picture.far, ...far}};
}
