/** Where the pages of the recorded run begin: behind the # of the file's own address. In the place of model/run/base.js. */
export function baseOf() {
  return "#/";
}
