/** What is being done with files that are uploaded, in words. */
import {gettext} from "../../lib/words.js";
import {fixed} from "./format.js";

const MEBIBYTE = 1024 * 1024;

/** Why files of these sizes are not even sent, or "". `most` is how many bytes an upload may hold. */
export function whyTooMuch(sizes, most) {
  const total = sizes.reduce((sum, size) => sum + size, 0);
  if (!(total > most)) return "";
  return gettext("The files have {total} MiB; an upload may hold {most} MiB in all.", {
    total: mebibytes(total),
    most: Math.floor(most / MEBIBYTE),
  });
}

/** How much of the upload has been sent. */
export function sentWords(sent, total) {
  if (sent >= total) return gettext("Waiting for the server…");
  return gettext("Sending: {sent} of {total} MiB…", {sent: mebibytes(sent), total: mebibytes(total)});
}

/** What the server does, from a line that it sends meanwhile. */
export function doingWords({doing, file, number, of, read = 0, size = 0}) {
  switch (doing) {
    case "waiting":
      return gettext("Waiting until other questions are answered…");
    case "reading":
      if (read) return readingWords(file, read, size);
      return of > 1
        ? gettext("Reading {file} ({number} of {of})…", {file, number, of})
        : gettext("Reading {file}…", {file});
    case "checking":
      return gettext("Checking what belongs together…");
    default:
      return gettext("Storing the scenario…");
  }
}

/** How much of a large file has been read; how much comes out of an archive is not known. */
function readingWords(file, read, size) {
  const parts = {file, read: mebibytes(read)};
  return read <= size
    ? gettext("Reading {file}: {read} of {size} MiB…", {...parts, size: mebibytes(size)})
    : gettext("Reading {file}: {read} MiB…", parts);
}

function mebibytes(bytes) {
  return fixed(bytes / MEBIBYTE, 1);
}
