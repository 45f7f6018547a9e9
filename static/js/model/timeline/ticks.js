const ROUND = [1, 2, 5];
/** A tick needs so many pixels. */
const APART = 110;

/** Round moments within a window that is `width` pixels wide, in ns. */
export function roundMoments({start, end}, width) {
  const step = roundStep(((end - start) * APART) / Math.max(width, APART));
  const found = [];
  for (let at = Math.ceil(start / step) * step; at <= end; at += step) found.push(at);
  return found;
}

/** The smallest round length that is at least so long: 1, 2 or 5 of a power of ten seconds, or of minutes and hours. */
function roundStep(least) {
  const sixties = [10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14_400, 43_200, 86_400].map((s) => s * 1e9);
  if (least > 5e9) return sixties.find((step) => step >= least) ?? Math.ceil(least / 86_400e9) * 86_400e9;
  const power = 10 ** Math.floor(Math.log10(Math.max(least, 1)));
  return [...ROUND, 10].map((times) => times * power).find((step) => step >= least) ?? 10 * power;
}
