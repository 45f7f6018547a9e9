import {signal} from "@preact/signals";

import {oneOf} from "../../model/run/rows.js";
import {KINDS, PAGE} from "../../model/volumes/chains.js";
import {RowWindow} from "../run/row_window.js";

const STATES = KINDS.map(([key]) => key);
const SORTS = ["claim", "volume"];

/** Which chains the page Volumes lists: those of a kind, those with a text in their names, one page of them. */
export class VolumeList {
  constructor(session, chosen, filters) {
    this.chosen = chosen;
    this.filters = filters;
    /** The page that was turned to, counted from 0; null for the one with the selected object. @type {import("@preact/signals").Signal<number | null>} */
    this.page = signal(null);
    this.rows = new RowWindow(session, "volumes", () => this.#wanted());
  }

  start() {
    this.rows.start();
  }

  /** What is listed: {text, kind, sort, order}. */
  get shown() {
    const {find, rows, sort, order} = this.filters.values.value;
    return {text: find, kind: oneOf(STATES, rows), sort: oneOf(SORTS, sort), order: oneOf(["desc"], order)};
  }

  find(text) {
    this.page.value = 0;
    this.filters.set({find: text});
  }

  ofKind(kind) {
    this.page.value = null;
    this.filters.set({rows: kind});
  }

  sortBy({sort, order}) {
    this.page.value = 0;
    this.filters.set({sort, order});
  }

  turnTo(page) {
    this.page.value = page;
  }

  /** Keep the page, whatever is selected next. */
  stay() {
    this.page.value ??= Math.floor((this.rows.held.value?.first ?? 0) / PAGE);
  }

  #wanted() {
    const {text, kind, sort, order} = this.shown;
    const page = this.page.value;
    const place = page === null ? {around: this.chosen.id.value ?? ""} : {from: page * PAGE};
    return {search: text.trim(), state: kind, sort, order, ...place, count: PAGE};
  }
}
