/**
 * Where in a YAML text a field stands, and at which field the cursor is. Lines are read by their indentation, so that a
 * text that is being written, and is no YAML yet, has places too. In a flow mapping ({a: b}) the place is that of the
 * line's own field.
 */

const KEY = /^("[^"]*"|'[^']*'|[^\s#"'{[\]][^:#]*?)\s*:(\s|$)/;
const DASH = /^-(\s+|$)/;
const BLOCK = /:\s*[|>][-+0-9]*\s*$/;

/**
 * The lines of a text, each as {path, indent, document}: the path of its last field or item, or null where the line has
 * none. Documents count from 0.
 */
export function placesOf(text) {
  const stack = [];
  let document = 0;
  let blockAt = null;
  return text.split("\n").map((line) => {
    const indent = indentOf(line);
    const isBlank = line.trim() === "" || line.trim().startsWith("#");
    if (blockAt !== null && (isBlank || indent > blockAt)) return {path: null, indent, document};
    blockAt = null;
    if (/^---(\s|$)/.test(line)) {
      stack.length = 0;
      document += 1;
      return {path: null, indent, document};
    }
    if (isBlank) return {path: null, indent, document};
    enter(stack, line, indent);
    if (BLOCK.test(line)) blockAt = stack.at(-1)?.indent ?? indent;
    return {path: stack.map(({part}) => part), indent, document};
  });
}

/** The line of a field, from 1 on, or of the nearest field around it; 0 for none. A path is as `readPath` gives it. */
export function lineOf(text, path, document = 0) {
  const places = placesOf(text);
  const first = places.findIndex((place) => place.path !== null);
  // A text may begin with the line that separates documents.
  const own = first < 0 ? document : places[first].document + document;
  for (let length = path.length; length > 0; length -= 1) {
    const wanted = path.slice(0, length).join("\0");
    const found = places.findIndex(
      (place) => place.document === own && place.path !== null && startsWith(place.path, wanted, length),
    );
    if (found >= 0) return found + 1;
  }
  return 0;
}

/**
 * Where the cursor is, at a row from 0 on and a column: {path, isValue, typed, from}. `path` leads to the mapping whose key is
 * being written or, with `isValue`, to the field whose value is; `typed` is what is there of it, which begins at
 * column `from`.
 */
export function placeAt(text, row, column) {
  const lines = text.split("\n");
  const before = lines[row].slice(0, column);
  const stack = [];
  const above = placesOf(lines.slice(0, row).join("\n"));
  for (const [number, {path}] of above.entries()) {
    if (path === null && /^---(\s|$)/.test(lines[number])) stack.length = 0;
    else if (path !== null) enter(stack, lines[number], indentOf(lines[number]));
  }
  let [indent, rest] = [indentOf(before), before.trimStart()];
  if (rest === "") leave(stack, indent);
  for (let dash = DASH.exec(rest); dash; dash = DASH.exec(rest)) {
    item(stack, indent);
    indent += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  const key = KEY.exec(rest);
  if (!key) {
    leave(stack, indent);
    const inList = before.trimStart().startsWith("-") && !rest.includes(":");
    return {path: stack.map(({part}) => part), isValue: false, isItem: inList, typed: rest, from: column - rest.length};
  }
  field(stack, indent, key[1]);
  const typed = rest.slice(key[0].length).trimStart();
  return {path: stack.map(({part}) => part), isValue: true, isItem: false, typed, from: column - typed.length};
}

/** The parts of a path as messages write it: ["spec", "containers", 0, "image"] of "spec.containers[0].image". */
export function readPath(text) {
  return [...text.matchAll(/\[(\d+)\]|\[([^\]]*)\]|([^.[\]]+)/g)].map(([, index, key, name]) =>
    index === undefined ? (key ?? name) : Number(index),
  );
}

/** The first path that a message names, such as the refusal of an API server; "" for none. */
export function pathIn(message) {
  const [found] = message.match(
    /\b(metadata|spec|status|data|kind|apiVersion|profiles)((\.[A-Za-z][\w-]*|\[[^\]\s]+\])*)/,
  ) ?? [""];
  return found;
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function startsWith(path, wanted, length) {
  return path.length >= length && path.slice(0, length).join("\0") === wanted;
}

/** Take a line into the stack of fields and items that lead to it. */
function enter(stack, line, start) {
  let [indent, rest] = [start, line.trimStart()];
  for (let dash = DASH.exec(rest); dash; dash = DASH.exec(rest)) {
    item(stack, indent);
    indent += dash[0].length;
    rest = rest.slice(dash[0].length);
  }
  const key = KEY.exec(rest);
  if (key) field(stack, indent, key[1]);
}

function item(stack, indent) {
  let index = 0;
  while (
    stack.length > 0 &&
    (stack.at(-1).indent > indent || (stack.at(-1).indent === indent && isItem(stack.at(-1))))
  ) {
    const gone = stack.pop();
    if (gone.indent === indent && isItem(gone)) index = gone.part + 1;
  }
  stack.push({indent, part: index});
}

function field(stack, indent, key) {
  leave(stack, indent);
  stack.push({indent, part: key.replace(/^["']|["']$/g, "").trim()});
}

function leave(stack, indent) {
  while (stack.length > 0 && stack.at(-1).indent >= indent) stack.pop();
}

function isItem({part}) {
  return typeof part === "number";
}
