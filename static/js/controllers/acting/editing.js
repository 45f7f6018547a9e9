import {computed, effect, signal} from "@preact/signals";

import {gettext} from "../../lib/words.js";
import {newText} from "../../model/acting/schema.js";
import {lineOf, pathIn, readPath} from "../../model/acting/yaml_place.js";
import {Writing} from "./writing.js";

/**
 * The text of an object that is written or changed on a page of a run: where it comes from, and where it goes. `id` is that of
 * the object, "" for a new one.
 *
 * `reading` is {status: "loading" | "ready" | "failed", message}.
 */
export class Editing extends Writing {
  constructor(session, id, wantedKind = "") {
    super(session.api, id);
    this.session = session;
    this.wantedKind = wantedKind;
    /** @type {import("@preact/signals").Signal<{status: string, message?: string}>} */
    this.reading = signal({status: "loading"});
    this.kind = signal(/** @type {any} */ (null));
    this.busy = signal("");
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

  /** Begin a new object of another kind. */
  async choose(kind) {
    this.kind.value = kind;
    const schema = await this.schemaOf(kind.api_version, kind.kind);
    this.text = newText(kind, schema);
    this.remarks.value = [];
    this.onText(this.text);
  }

  /** Do what the text asks for, in this run or in a fork of it from the event shown; then look at the object. */
  async send(where) {
    this.busy.value = where;
    this.problem.value = "";
    this.wait();
    const asked = await this.check();
    if (asked && asked.problems.length === 0) await this.#carryOut(where, asked.commands);
    this.busy.value = "";
  }

  async #load() {
    try {
      await this.loadKinds();
      const kinds = this.kinds.value;
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
    this.followKind();
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
}

/** The short names of kinds in ids. Python: engine/objects/kinds.py. */
const SHORT = {PersistentVolumeClaim: "claim", PersistentVolume: "volume", StorageClass: "class"};
