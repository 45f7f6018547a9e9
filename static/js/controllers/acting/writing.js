import {signal} from "@preact/signals";

import {gettext, labelled} from "../../lib/words.js";
import {Schema} from "../../model/acting/schema.js";
import {placeAt} from "../../model/acting/yaml_place.js";

const CHECK_MS = 500;
const LONGEST_TEXT = 400;

/**
 * A manifest while somebody writes it: what completes it, what explains it, and what the server says is wrong with it. `id` is
 * that of an object that is changed, "" for a new one; then `base` is the text before.
 *
 * `remarks` are {line, message, severity}; line 0 means the whole text.
 */
export class Writing {
  constructor(api, id) {
    this.api = api;
    this.id = id;
    this.remarks = signal(/** @type {any[]} */ ([]));
    this.kinds = signal(/** @type {any[]} */ ([]));
    this.problem = signal("");
    this.text = "";
    this.base = "";
    /** By apiVersion and kind, promises. @type {Map<string, Promise<Schema | null>>} */
    this.schemas = new Map();
  }

  /** Ask which kinds there are. */
  async loadKinds() {
    this.kinds.value = (await this.api.get("schema/")).kinds;
  }

  /** The text is another one: check it soon. */
  changed(text) {
    this.text = text;
    this.problem.value = "";
    this.wait();
    this.timer = setTimeout(() => this.check(), CHECK_MS);
    this.followKind();
  }

  /** Do not check the text by itself. */
  wait() {
    clearTimeout(this.timer);
  }

  /** Read the text on the server; returns its answer, {commands, problems, notes}. */
  async check() {
    const {text} = this;
    const body = this.id ? {text, object: this.id, base: this.base} : {text};
    try {
      const asked = await this.api.post("edits/", body, {isRepeatable: true});
      if (text === this.text) {
        this.remarks.value = [
          ...asked.problems.map((one) => remark(one, "error")),
          ...asked.notes.map((one) => remark(one, "warning")),
        ];
      }
      return asked;
    } catch (error) {
      this.problem.value = error.message;
      return null;
    }
  }

  /** What completes the text at a place of it, once the schema is there; see `makeEditor`. */
  async complete({text, row, column, isAsked}) {
    const schema = await this.#current();
    const {path, isValue, isItem, typed, from} = placeAt(text, row, column);
    if (isValue) return {from, options: this.#values(schema, path, text)};
    if (typed === "" && !isAsked) return null;
    if (isItem && schema?.typeOf(schema.at(path) ?? {}) === "string") {
      return {from, options: (schema?.valuesAt(path) ?? []).map((label) => ({label}))};
    }
    return {from, options: fieldOptions(schema, path)};
  }

  /** What is said of the field at a place. */
  async explain({text, row, column}) {
    const line = text.split("\n")[row];
    const key = line.indexOf(":");
    const {path} = placeAt(text, row, key < 0 ? column : Math.max(key + 1, column));
    const words = (await this.#current())?.wordsAt(path);
    return words ? `${words.title} (${words.type})\n${words.text}`.slice(0, LONGEST_TEXT) : "";
  }

  /** Load the schema of the kind that the text names. */
  followKind() {
    const [version, kind] = typeIn(this.text);
    if (version && kind) this.schemaOf(version, kind);
  }

  /** The schema of a kind; null where there is none. */
  schemaOf(version, kind) {
    const key = `${version} ${kind}`;
    if (!this.schemas.has(key)) this.schemas.set(key, this.#load(version, kind));
    return this.schemas.get(key);
  }

  async #load(version, kind) {
    const answer = await this.api.get("schema/", {api_version: version, kind}).catch(() => null);
    return answer && new Schema(answer);
  }

  /** The schema of the kind that the text names, as soon as it is there; null for none. */
  #current() {
    return this.schemas.get(typeIn(this.text).join(" ")) ?? null;
  }

  #values(schema, path, text) {
    if (path.length === 1 && path[0] === "kind") return this.kinds.value.map(({kind}) => ({label: kind}));
    if (path.length === 1 && path[0] === "apiVersion") {
      const [, kind] = typeIn(text);
      const fitting = this.kinds.value.filter((one) => !kind || one.kind === kind);
      return [...new Set(fitting.map((one) => one.api_version))].map((label) => ({label}));
    }
    return (schema?.valuesAt(path) ?? []).map((label) => ({label}));
  }
}

function remark({line, field, message}, severity) {
  return {line, message: field ? labelled(field, message) : message, severity};
}

function fieldOptions(schema, path) {
  return (schema?.fieldsAt(path) ?? []).map(({name, type, text, isRequired}) => ({
    label: name,
    detail: isRequired ? gettext("{type}, required", {type}) : type,
    info: text.slice(0, LONGEST_TEXT),
    // eslint-disable-next-line words/whole -- YAML
    apply: `${name}: `,
  }));
}

/** The apiVersion and the kind that a text names. */
function typeIn(text) {
  return ["apiVersion", "kind"].map((name) => new RegExp(`^${name}:\\s*(\\S+)`, "m").exec(text)?.[1] ?? "");
}
