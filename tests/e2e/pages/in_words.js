/** What a page says: `window.said()` lists every text, and every one that is only read out or shown at the pointer,
 * without what is in the brackets of the made-up language. */
(() => {
  const ATTRIBUTES = ["title", "aria-label", "placeholder", "alt", "aria-valuetext", "aria-description"];

  /** What the page was told: parts of an answer that comes part by part, too. */
  window.told = [];
  const ask = window.fetch;
  window.fetch = async (...question) => {
    const answer = await ask(...question);
    keep(answer.clone().body, window.told.push("") - 1);
    return answer;
  };

  async function keep(body, place) {
    const decoder = new TextDecoder();
    try {
      for await (const part of body ?? []) window.told[place] += decoder.decode(part, {stream: true});
    } catch {
      // The page has given the question up.
    }
  }

  /** Short, and the same for all elements of a kind. */
  function selectorOf(element) {
    const parts = [];
    for (let each = element; each && parts.length < 4 && each !== document.body; each = each.parentElement) {
      const [first] = each.classList;
      parts.unshift(each.localName + (first ? `.${first}` : ""));
    }
    return parts.join(" > ");
  }

  /** What of a text is in no brackets; a sentence with links is several texts in one pair of them. */
  class Outside {
    depth = 0;

    of(text, block) {
      // Where a sentence is cut, its end is missed.
      if (!this.block?.contains(block)) this.depth = 0;
      let left = "";
      for (const letter of text) {
        if (letter === "⟦") {
          if (this.depth === 0) this.block = block;
          this.depth += 1;
        } else if (letter === "⟧") this.depth = Math.max(0, this.depth - 1);
        else left += this.depth === 0 ? letter : "";
      }
      return left;
    }
  }

  const BLOCKS = "p, li, dd, dt, td, th, div, section, h1, h2, h3, h4, button, a, label, summary, option, figcaption, text";

  window.said = () => {
    const outside = new Outside();
    const found = [];
    const broken = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const {currentNode: node} = texts;
      if (node.parentElement.closest("script, style, noscript, code, kbd, pre, .cm-editor")) continue;
      // A name that may break between its words is one text, and so is a sentence whose names may not.
      const parent = node.parentElement.closest(":not(.whole)");
      const isBroken = parent.querySelector(":scope > wbr, :scope > .whole") !== null;
      if (isBroken && broken.has(parent)) continue;
      if (isBroken) broken.add(parent);
      const text = isBroken ? parent.textContent : node.data;
      found.push([selectorOf(parent), outside.of(text, parent.closest(BLOCKS))]);
    }
    for (const element of document.body.querySelectorAll(ATTRIBUTES.map((name) => `[${name}]`).join())) {
      for (const name of ATTRIBUTES)
        if (element.hasAttribute(name)) found.push([`${selectorOf(element)}[${name}]`, new Outside().of(element.getAttribute(name), null)]);
    }
    return found.map(([where, text]) => [where, text.replace(/\s+/g, " ").trim()]).filter(([, text]) => /\p{L}/u.test(text));
  };
})();
