/** What is being done with files that are uploaded, in words. */

const MEBIBYTE = 1024 * 1024;

/** Why files of these sizes are not even sent, or "". `most` is how many bytes an upload may hold. */
export function whyTooMuch(sizes, most) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!(total > most)) return "";
  return `The files have ${mebibytes(total)} MiB; an upload may hold ${Math.floor(most / MEBIBYTE)} MiB in all.`;
}

/** How much of the upload has been sent. */
export function sentWords(sent, total) {
  if (sent >= total) return "Waiting for the server…";
  return `Sending: ${mebibytes(sent)} of ${mebibytes(total)} MiB…`;
}

/** What the server does, from a line that it sends meanwhile. */
export function doingWords({doing, file, number, of}) {
  switch (doing) {
    case "waiting":
      return "Waiting until other questions are answered…";
    case "reading":
      return of > 1 ? `Reading ${file} (${number} of ${of})…` : `Reading ${file}…`;
    case "checking":
      return "Checking what belongs together…";
    default:
      return "Storing the scenario…";
  }
}

function mebibytes(bytes) {
  return (bytes / MEBIBYTE).toFixed(1);
}
