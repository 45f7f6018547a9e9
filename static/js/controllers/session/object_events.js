import {computed, effect, signal} from "@preact/signals";

import {gettext} from "../../lib/words.js";

const WAIT_MS = 120;
const PAGE = 1000;
/** The beginning of a longer history is left out. */
const MOST_PAGES = 5;

/**
 * The events of one object, loaded again whenever the object changes. `idOf()` gives its id, `queryOf(id)`
 * the query for its events, and `entityOf(id)` the entity that it belongs to.
 */
export class ObjectEvents {
  /**
   * @param {any} session
   * @param {() => string | null} idOf
   * @param {{queryOf?: (id: string) => object, entityOf?: (id: string) => string}} [how]
   */
  constructor(session, idOf, {queryOf = (id) => ({object: id}), entityOf = (id) => id} = {}) {
    this.session = session;
    this.queryOf = queryOf;
    this.entityOf = entityOf;
    this.id = computed(() => idOf() ?? null);
    /** All events about it, oldest first, including those after the event shown. @type {import("@preact/signals").Signal<any[]>} */
    this.events = signal([]);
    /** "loading" until they were read for the first time, then "ready", or "failed". */
    this.status = signal("loading");
    /** Whether the events of the object wanted now, if there is one, were read for the first time, or could not be. */
    this.isRead = computed(() => this.#isRead());
    /** The id and the object for which the events were loaded. */
    this.of = null;
    this.object = null;
  }

  start() {
    let timer = 0;
    /** @type {string | null} */
    let awaited = null;
    effect(() => {
      const id = this.id.value;
      // A changed entity is a new object.
      const object = this.session.model.entities.get(id && this.entityOf(id));
      if (this.of === id && this.object === object) return;
      if (this.of !== id) {
        this.events.value = [];
        this.status.value = "loading";
      }
      [this.of, this.object] = [id, object];
      // Do not restart the timer: an object that changes all the time would never be loaded.
      if (awaited !== null && awaited === id) return;
      clearTimeout(timer);
      awaited = id;
      if (id !== null)
        timer = setTimeout(() => {
          awaited = null;
          this.#refresh(id);
        }, WAIT_MS);
    });
  }

  #isRead() {
    // Both are looked at each time, so that a change of either is noticed.
    const [id, isLoading] = [this.id.value, this.status.value === "loading"];
    return id === null || (this.of === id && !isLoading);
  }

  async #refresh(id) {
    try {
      const found = await newer(this.session.api, this.queryOf(id), this.events.peek());
      if (this.of !== id) return;
      const latest = this.events.peek().at(-1)?.seq ?? 0;
      this.events.value = [...this.events.peek(), ...found.filter(({seq}) => seq > latest)];
      this.status.value = "ready";
    } catch (error) {
      if (this.of !== id) return;
      this.status.value = "failed";
      const message = gettext("The events of {id} could not be read. {message}", {id, message: error.message});
      this.session.notices.show({message, again: error.again}, () => this.#refresh(id));
    }
  }
}

/** The events of a query that come after the known ones, oldest first. */
async function newer(api, query, known) {
  const latest = known.at(-1)?.seq;
  const found = [];
  for (let page = 0, cursor = null; page < MOST_PAGES; page += 1) {
    const answer = await api.get("events/", {
      ...query,
      after: latest,
      continue: cursor,
      limit: PAGE,
      order: "desc",
    });
    found.push(...answer.items);
    cursor = answer.continue;
    if (cursor === null) break;
  }
  return found.filter(({seq}) => seq > (latest ?? 0)).reverse();
}
