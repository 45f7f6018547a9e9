import {computed, effect, signal} from "@preact/signals";

const WAIT_MS = 120;
const PAGE = 1000;
/** Of an object with a longer history the beginning is left out. */
const MOST_PAGES = 5;

/**
 * The events of one object, read again whenever it changes; `idOf()` gives its id. They are
 * those about it, or what `queryOf` its id asks for; `entityOf` gives the entity it is part of.
 */
export class ObjectEvents {
  constructor(session, idOf, {queryOf = (id) => ({object: id}), entityOf = (id) => id} = {}) {
    this.session = session;
    this.queryOf = queryOf;
    this.entityOf = entityOf;
    this.id = computed(() => idOf() ?? null);
    /** All events about it, oldest first, also those after the place shown. */
    this.events = signal([]);
    /** "loading" until they were read for the first time, then "ready", or "failed". */
    this.status = signal("loading");
    /** Whose events these are, and the object as it was when they were read. */
    this.of = null;
    this.object = null;
  }

  start() {
    let timer = null;
    let awaited = null;
    effect(() => {
      const id = this.id.value;
      // An entity that has changed is another object.
      const object = this.session.model.entities.get(id && this.entityOf(id));
      if (this.of === id && this.object === object) return;
      if (this.of !== id) {
        this.events.value = [];
        this.status.value = "loading";
      }
      [this.of, this.object] = [id, object];
      // What changes all the time is read again all the same.
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
      const message = `The events of ${id} could not be read. ${error.message}`;
      this.session.notices.show({message, again: error.again}, () => this.#refresh(id));
    }
  }
}

/** The events that a query finds after those at hand, oldest first. */
async function newer(api, query, atHand) {
  const latest = atHand.at(-1)?.seq;
  const found = [];
  for (let page = 0, before = null; page < MOST_PAGES; page += 1) {
    const answer = await api.get("events/", {
      ...query,
      after: latest,
      before,
      limit: PAGE,
      order: "desc",
    });
    found.push(...answer.events);
    if (answer.next === null) break;
    before = answer.next;
  }
  return found.filter(({seq}) => seq > (latest ?? 0)).reverse();
}
