import {listText} from "../../lib/words.js";

/** Feature gates as the flag --feature-gates lists them: "A=true, B=false". Throws an Error naming an entry that is not one. */
export function parseGates(text) {
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  return Object.fromEntries(entries.map(parseEntry));
}

function parseEntry(entry) {
  const [name, value = ""] = entry.split("=").map((part) => part.trim());
  const word = value.toLowerCase();
  if (word !== "true" && word !== "false") throw new Error(`Feature gate ${name}: write ${name}=true or ${name}=false`);
  return [name, word === "true"];
}

/** Feature gates in one text: "A=true, B=false". */
export function gatesText(gates) {
  return listText(Object.entries(gates ?? {}).map(([name, value]) => `${name}=${value}`));
}
