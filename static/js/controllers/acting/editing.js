import {computed, effect, signal} from "@preact/signals";

import {gettext, labelled} from "../../lib/words.js";
import {Schema, newText} from "../../model/acting/schema.js";
import {lineOf, pathIn, placeAt, readPath} from "../../model/acting/yaml_place.js";

const CHECK_MS = 500;
const LONGEST_TEXT = 400;

/**
 * The text of an object that is written or changed: where it comes from, what is wrong with it, and where it goes. `id` is that
 * of the object, "" for a new one.
 *
 * `reading` is {status: "loading" | "ready" | "failed", message}; `remarks` are {line, message, severity}.
 */
export class Editing {
  constructor(session, id, wantedKind = "") {
    this.session = session;
    this.id = id;
    this.wantedKind = wantedKind;
    /** @type {import("@preact/signals").Signal<{status: string, message?: string}>} */
    this.reading = signal({status: "loading"});
    this.remarks = signal(/** @type {any[]} */ ([]));
    this.kinds = signal(/** @type {any[]} */ ([]));
    this.kind = signal(/** @type {any} */ (null));
    this.busy = signal("");
    this.problem = signal("");
    this.text = "";
    this.base = "";
    this.schemas = new Map();
    /** Whether the object can be changed where one is looking; else only a fork can be. */
    this.mayHere = computed(() => session.mayChange && !session.place.past && session.run.value.status !== "failed");
  }

  start() {
    let begun = false;
    effect(() => {
      if (this.session.isWaiting || begun) return;
      begun = true;
      this.#load();
    });
  }

  /** Called with the text that the editor is to show. @type {(text: string) => void} */
  onText = () => {};

  /** The text is another one: check it soon. */
  changed(text) {
    this.text = text;
    this.problem.value = "";
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.check(), CHECK_MS);
    this.#followKind();
  }

  /** Begin a new object of another kind. */
  async choose(kind) {
    this.kind.value = kind;
    const schema = await this.#schema(kind.api_version, kind.kind);
    this.text = newText(kind, schema);
    this.remarks.value = [];
    this.onText(this.text);
  }

  /** Read the text on the server; returns its answer, {commands, problems, notes}. */
  async check() {
    const {text} = this;
    const body = this.id ? {text, object: this.id, base: this.base} : {text};
    try {
      const asked = await this.session.api.post("edits/", body, {isRepeatable: true});
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

  /** Do what the text asks for, in this run or in a fork of it from the event shown; then look at the object. */
  async send(where) {
    this.busy.value = where;
    this.problem.value = "";
    clearTimeout(this.timer);
    const asked = await this.check();
    if (asked && asked.problems.length === 0) await this.#carryOut(where, asked.commands);
    this.busy.value = "";
  }

  /** What completes the text at a place of it; see `makeEditor`. */
  complete({text, row, column, isAsked}) {
    const schema = this.#current();
    const {path, isValue, isItem, typed, from} = placeAt(text, row, column);
    if (isValue) return {from, options: this.#values(schema, path, text)};
    if (typed === "" && !isAsked) return null;
    if (isItem && schema?.typeOf(schema.at(path) ?? {}) === "string") {
      return {from, options: (schema?.valuesAt(path) ?? []).map((label) => ({label}))};
    }
    return {from, options: fieldOptions(schema, path)};
  }

  /** What is said of the field at a place. */
  explain({text, row, column}) {
    const line = text.split("\n")[row];
    const key = line.indexOf(":");
    const {path} = placeAt(text, row, key < 0 ? column : Math.max(key + 1, column));
    const words = this.#current()?.wordsAt(path);
    return words ? `${words.title} (${words.type})\n${words.text}`.slice(0, LONGEST_TEXT) : "";
  }

  async #load() {
    try {
      const {kinds} = await this.session.api.get("schema/");
      this.kinds.value = kinds;
      if (this.id) await this.#loadObject();
      else
        await this.choose(kinds.find(({kind}) => kind === this.wantedKind) ?? kinds.find(({kind}) => kind === "Pod"));
      this.reading.value = {status: "ready"};
    } catch (error) {
      this.reading.value = {status: "failed", message: error.message};
    }
  }

  async #loadObject() {
    const {seq, past} = this.session.place;
    this.base = await this.session.api.text(`objects/${this.id}/`, {seq: past ? seq : null, format: "yaml"});
    this.text = this.base;
    this.onText(this.text);
    this.#followKind();
  }

  async #carryOut(where, commands) {
    if (commands.length === 0) {
      this.problem.value = gettext("Nothing was changed.");
      return;
    }
    try {
      const id = this.id || (await this.#nameOf(commands));
      const {commands: ways, place, address} = this.session;
      const order = `${this.id ? "edit" : "create"} ${id}`;
      if (where === "fork") await ways.actInFork(order, commands, {seq: place.past ? place.seq : null, id});
      else if (await ways.carryOut(commands)) address.open(this.session.hrefOf(id, {seq: null}));
    } catch (error) {
      this.#refused(error.message);
    }
  }

  /** Show why the engine refused it, at the line of the field that it names. */
  #refused(message) {
    this.problem.value = message;
    const path = readPath(pathIn(message));
    const line = path.length > 0 ? lineOf(this.text, path) : 0;
    if (line > 0) this.remarks.value = [{line, message, severity: "error"}];
  }

  /** The id of the first object that is created. */
  async #nameOf([{manifest}]) {
    const {kind, metadata} = manifest;
    const known = this.kinds.value.find((one) => one.kind === kind && one.api_version === manifest.apiVersion);
    const key = known?.namespaced ? `${metadata.namespace || "default"}/${metadata.name}` : metadata.name;
    return `${SHORT[kind] ?? kind.toLowerCase()}/${key}`;
  }

  /** Load the schema of the kind that the text names. */
  #followKind() {
    const [version, kind] = typeIn(this.text);
    if (version && kind) this.#schema(version, kind);
  }

  #current() {
    return this.schemas.get(typeIn(this.text).join(" ")) ?? null;
  }

  async #schema(version, kind) {
    const key = `${version} ${kind}`;
    if (!this.schemas.has(key)) {
      this.schemas.set(key, null);
      const answer = await this.session.api.get("schema/", {api_version: version, kind}).catch(() => null);
      this.schemas.set(key, answer && new Schema(answer));
    }
    return this.schemas.get(key);
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

/** The short names of kinds in ids. Python: engine/objects/kinds.py. */
const SHORT = {PersistentVolumeClaim: "claim", PersistentVolume: "volume", StorageClass: "class"};

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
