import {Terms, stopOf, wordAfter} from "../../model/terms/terms.js";
import {Tip} from "../../views/terms/tip.js";

/** Where words stand alone: headings of tables and sections, names of facts and states. */
const PLACES_SELECTOR =
  "main th, main dt, main h2, main h3, main .legend li, main .legend span, main .state, main td ol li, main svg.dia .s text";
/** The cards of nodes repeat the same words for each node, and the glossary explains its own. */
const REPEATED_SELECTOR = ".meters dt, .glossary *";
const ACTIVE_SELECTOR = "a[href], button, summary, input, select, [role=button]";
/** The words of one of these are one stop of Tab; arrow keys lead from one to the next. */
const GROUPS_SELECTOR = "thead, tbody, tfoot, dl, .legend, main > *, main";
const OPEN_MS = 250;
const CLOSE_MS = 150;
const LOOK_MS = 400;

/** Explain the words of the glossary where pages show them, on hover and on focus. `read` gives what the server has. */
export async function connectTerms(read) {
  const found = await read();
  if (found) new Explained(new Terms(found.terms), new Tip()).start();
}

/**
 * Words that stand alone are marked `data-explained`: "stop" where the page has nothing to press, so that the keyboard comes
 * to them as well, else "part" of what is pressed. Links to the glossary and words of lessons need no mark.
 */
class Explained {
  constructor(terms, tip) {
    this.terms = terms;
    this.tip = tip;
    this.timer = 0;
    /** The text that an element was last looked at with. @type {WeakMap<Element, string>} */
    this.seen = new WeakMap();
  }

  start() {
    document.addEventListener("pointerover", (event) => this.#point(event.target));
    document.addEventListener("focusin", (event) => this.#focus(event.target));
    document.addEventListener("focusout", () => this.tip.hide());
    document.addEventListener("scroll", (event) => this.#scroll(event.target), {capture: true, passive: true});
    document.addEventListener("pointerdown", () => this.#close(0));
    document.addEventListener("keydown", (event) => this.#press(event), {capture: true});
    this.#look();
    let isDue = false;
    new MutationObserver(() => {
      if (isDue) return;
      isDue = true;
      setTimeout(() => {
        isDue = false;
        this.#look();
      }, LOOK_MS);
    }).observe(document.body, {childList: true, subtree: true, characterData: true});
  }

  /** Mark the words that came since the last look. */
  #look() {
    if (document.hidden) return;
    if (this.tip.of?.isConnected === false) this.tip.hide();
    for (const element of document.querySelectorAll(PLACES_SELECTOR)) this.#mark(element);
    for (const group of document.querySelectorAll(GROUPS_SELECTOR)) this.#stops(group);
  }

  #mark(element) {
    const text = ownText(element);
    if (this.seen.get(element) === text) return;
    this.seen.set(element, text);
    const isAlone = text !== "" && !element.closest(".vh") && !element.matches(REPEATED_SELECTOR);
    const isWord = isAlone && this.terms.find(text) !== null;
    const inActive = element.closest(ACTIVE_SELECTOR);
    const isPart = (inActive && inActive !== element) || element.querySelector(ACTIVE_SELECTOR);
    if (!isWord) unmark(element);
    else element.setAttribute("data-explained", isPart ? "part" : "stop");
  }

  /** Of the words of a group one is a stop of Tab. */
  #stops(group) {
    const words = this.#wordsOf(group);
    const before = words.findIndex((word) => word.getAttribute("tabindex") === "0");
    const stop = stopOf(words.length, before);
    for (const [i, word] of words.entries()) {
      const value = i === stop ? "0" : "-1";
      if (word.getAttribute("tabindex") !== value) word.setAttribute("tabindex", value);
    }
  }

  #wordsOf(group) {
    const words = group.querySelectorAll('[data-explained="stop"]');
    return [...words].filter((word) => word.closest(GROUPS_SELECTOR) === group);
  }

  #point(target) {
    if (!(target instanceof Element) || target.closest("#explanation")) {
      clearTimeout(this.timer);
      return;
    }
    const pressed = target.closest("[role=button]")?.querySelector("[data-explained]");
    const word = target.closest(".term, [data-explained]") ?? pressed;
    const term = word && this.#termOf(word);
    if (term) this.#later(() => this.tip.show(word, word, {word: ownText(word), means: term.means}), OPEN_MS);
    else this.#close(CLOSE_MS);
  }

  /** An explanation does not move with the word that it explains. */
  #scroll(target) {
    if (target instanceof Node && target.contains(this.tip.of)) this.tip.hide();
  }

  #focus(target) {
    if (!(target instanceof Element)) return;
    const word = target.matches(".term, [data-explained]") ? target : target.querySelector("[data-explained]");
    const isOwn = word === target || target.querySelectorAll("[data-explained]").length === 1;
    const term = word && isOwn && target.matches(":focus-visible") && this.#termOf(word);
    if (term) this.#later(() => this.tip.show(word, target, {word: ownText(word), means: term.means}), 0);
  }

  #press(event) {
    if (event.key === "Escape" && this.tip.of) {
      this.#close(0);
      return;
    }
    const word = event.target instanceof Element ? event.target.closest('[data-explained="stop"]') : null;
    if (!word || word !== event.target) return;
    if (event.key === "Enter") location.assign(`/glossary/#${this.#termOf(word)?.anchor ?? ""}`);
    const words = this.#wordsOf(word.closest(GROUPS_SELECTOR));
    const next = wordAfter(event.key, words.indexOf(word), words.length);
    if (next === null) return;
    event.preventDefault();
    event.stopPropagation();
    for (const each of words) each.setAttribute("tabindex", each === words[next] ? "0" : "-1");
    words[next].focus();
  }

  /** What explains the word, {means, anchor}: its own sentence, what its link leads to, or what its text is. */
  #termOf(word) {
    const means = word.getAttribute("data-means");
    if (means) return {means, anchor: ""};
    return this.terms.findAt(word.getAttribute("href")) ?? this.terms.find(ownText(word));
  }

  #later(action, ms) {
    clearTimeout(this.timer);
    this.timer = setTimeout(action, ms);
  }

  #close(ms) {
    this.#later(() => this.tip.hide(), ms);
  }
}

function unmark(element) {
  if (!element.hasAttribute("data-explained")) return;
  element.removeAttribute("data-explained");
  element.removeAttribute("tabindex");
}

/** The text of an element itself; where it has none, all of its text. */
function ownText(element) {
  const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  const own = texts
    .map((node) => node.textContent)
    .join("")
    .trim();
  return own || element.textContent.trim();
}
