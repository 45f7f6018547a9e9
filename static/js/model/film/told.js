/** When the things of a kind were told, in order: [{at, seq}]. The n-th is the n-th of its list in the answer. */
export function toldOf({steps}, kind) {
  return steps.filter((step) => step.kind === kind).map(({at, seq}) => ({at, seq}));
}
