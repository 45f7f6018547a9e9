/** Where the pages of a run begin. The file that plays offline has another module in this place. @param {number} run */
export function baseOf(run) {
  return `/runs/${run}/`;
}
