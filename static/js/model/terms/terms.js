/** The words that pages explain. */

/** A longer text is no word. */
const LONGEST = 60;

export class Terms {
  /** @param {[string[], string, string][]} list names, the meaning, and the anchor in the glossary */
  constructor(list) {
    /** @type {Map<string, {means: string, anchor: string}>} */
    this.byName = new Map();
    this.byAnchor = new Map();
    for (const [names, means, anchor] of list) {
      const term = {means, anchor};
      for (const name of names.map(plain)) if (!this.byName.has(name)) this.byName.set(name, term);
      if (!this.byAnchor.has(anchor)) this.byAnchor.set(anchor, term);
    }
  }

  /** What a text is explained by, if the whole of it is a word; else null. */
  find(text) {
    if (text.length > LONGEST) return null;
    return this.byName.get(plain(text)) ?? null;
  }

  /** What an address of the glossary leads to, or null. */
  findAt(href) {
    const anchor = /^\/glossary\/#(.+)$/.exec(href ?? "")?.[1];
    return (anchor && this.byAnchor.get(decodeURIComponent(anchor))) || null;
  }
}

/** In lower case, on one line, without what may be broken at, and without a colon at its end. */
function plain(text) {
  return text
    .replace(/[\u200b\u00ad]/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/:$/, "")
    .toLowerCase();
}

/**
 * Which of the words of a group is the one that Tab comes to, as an index; -1 where there is none. It is the one with the
 * focus, or that was the stop before, else the first.
 */
export function stopOf(count, before) {
  if (count === 0) return -1;
  return before >= 0 && before < count ? before : 0;
}

/** The word that an arrow key leads to from that one; null for a key that leads to none. */
export function wordAfter(key, place, count) {
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[key];
  if (!step) return null;
  const next = place + step;
  return next >= 0 && next < count ? next : null;
}

/** Where an explanation of that size stands beside a word: below it, or above where there is no room. */
export function tipPlace(word, tip, window) {
  const GAP = 6;
  const left = Math.max(GAP, Math.min(word.left, window.width - tip.width - GAP));
  const below = word.bottom + GAP;
  const fits = below + tip.height <= window.height;
  return {left, top: fits ? below : Math.max(GAP, word.top - GAP - tip.height)};
}
