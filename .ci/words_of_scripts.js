/** Prints every message of static/js as JSON: [{path, function, messages, comments}], in the order of the files. */
import process from "node:process";
import {readFileSync, readdirSync} from "node:fs";

import * as espree from "espree";

const MESSAGES = {gettext: 1, gettextNoop: 1, ngettext: 2};
const NOTE = /^\s*Translators:/;

const found = [];
for (const path of listed("static/js")) {
  const ast = espree.parse(readFileSync(path, "utf8"), {
    ecmaVersion: "latest",
    sourceType: "module",
    loc: true,
    comment: true,
  });
  const notes = new Map(
    ast.comments.filter(({value}) => NOTE.test(value)).map(({loc, value}) => [loc.end.line, value.trim()]),
  );
  visit(ast, (call) => take(path, call, notes));
}
process.stdout.write(JSON.stringify(found));

function take(path, {type, callee, arguments: given, loc}, notes) {
  if (type !== "CallExpression" || !Object.hasOwn(MESSAGES, callee.name ?? "")) return;
  const messages = given.slice(0, MESSAGES[callee.name]).map(({value}) => value);
  // Anything else is refused by ESLint: .ci/words_rule.js.
  if (!messages.every((each) => typeof each === "string")) return;
  const note = notes.get(loc.start.line - 1);
  found.push({path, function: callee.name, messages, comments: note ? [note] : []});
}

function visit(node, each) {
  if (typeof node?.type === "string") each(node);
  for (const [key, value] of Object.entries(node ?? {}))
    if (value && typeof value === "object" && key !== "loc") visit(value, each);
}

function listed(folder) {
  return readdirSync(folder, {recursive: true})
    .filter((name) => name.endsWith(".js"))
    .map((name) => `${folder}/${name}`)
    .sort();
}
