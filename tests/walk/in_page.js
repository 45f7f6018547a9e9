/**
 * What the walk does inside a page: `window.walk` writes down every painted frame, waits until the page rests, and
 * measures its texts. It runs before the scripts of the page.
 */
(() => {
  const FRAMES_AT_REST = 3;
  /** Boxes may touch and share the space between lines; more than this is an overlap. In CSS pixels. */
  const TOUCH = 2;
  /** A line of text is higher than its letters by about this part at each end. */
  const LEADING = 0.22;

  const WAITS = "main[aria-busy=true], main.waiting";

  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const words = (element) => (element?.textContent ?? "").replace(/\s+/g, " ").trim();
  const firstNumber = (text) => Number(/[\d,]+/.exec(text ?? "")?.[0].replaceAll(",", "") ?? NaN);
  const sorted = (texts) => texts.sort();
  const ids = (selector, within) => all(selector, within).map(({dataset}) => dataset.pod);

  const QUEUE = ["In flight", "Active", "Backoff", "Unschedulable", "Gated"];

  /** What each page says, by its name: the same facts that tests/walk/truth.py reads from the API. */
  const FACTS = {
    board: () => ({
      lanes: Object.fromEntries(
        all(".queue > .lane").map((lane) => [words(lane.querySelector("h3")), firstNumber(words(lane.querySelector(".n")))]),
      ),
      queued: Object.fromEntries(all(".queue > .lane").map((lane) => [words(lane.querySelector("h3")), sorted(ids(".item", lane))])),
      claims: firstNumber(words(document.querySelector(".claims .n")) || "0"),
      nodes: firstNumber(words(document.querySelector(".gridhead h2"))),
      tiles: Object.fromEntries(
        all("article.node").map((node) => [node.getAttribute("aria-label").replace("Node ", ""), sorted(ids(".tile", node))]),
      ),
    }),
    pods: () => ({
      found: firstNumber(words(document.querySelector("main [role=status]"))),
      pods: Object.fromEntries(
        all("table.pods tbody tr").map((row) => [
          words(row.querySelector("th")),
          all("td", row).slice(1, 3).map((cell) => Number(words(cell))),
        ]),
      ),
    }),
    nodes: () => ({
      found: firstNumber(words(document.querySelector("main [role=status]"))),
      nodes: Object.fromEntries(
        all("table.nodelist tbody tr").map((row) => {
          const cells = all("td", row).map(words);
          return [words(row.querySelector("th")), {zone: cells[1], pods: cells[4], volumes: cells[5]}];
        }),
      ),
    }),
    node: () => ({
      name: words(document.querySelector("h1")),
      pods: all(".podrow li").map((row) => words(row.querySelector("a"))).sort(),
      cpu: words(all("table.res tbody tr").find((row) => words(row.querySelector("th")) === "CPU")?.children[4]),
    }),
    pod: () => ({
      name: words(document.querySelector("h1")),
      priority: valueOf("Priority"),
      attempts: Number(/^\d+/.exec(valueOf("Attempts") ?? "0")?.[0] ?? 0),
    }),
    volumes: () => ({
      claims: sorted(all(".chain tbody td:nth-child(3) button").map((box) => box.getAttribute("aria-label").split(", ")[0])),
      volumes: sorted(all(".chain tbody td:nth-child(5) button").map((box) => box.getAttribute("aria-label").split(", ")[0])),
    }),
    machines: () => ({
      queue: Object.fromEntries(QUEUE.map((state) => [state, counted("Scheduling queue", state)])),
      lost: counted("Claim phases", "Lost"),
      released: counted("Volume phases", "Released"),
      failed: counted("Volume phases", "Failed"),
    }),
  };

  function counted(machine, state) {
    const [found] = all(`svg.dia[aria-label="${machine}"] [role=button][aria-label^="${state}: "]`);
    return firstNumber(found?.getAttribute("aria-label"));
  }

  function valueOf(term) {
    const found = all(".kv dt").find((each) => words(each) === term);
    return found ? words(found.nextElementSibling) : null;
  }

  const walk = {frames: [], pending: 0, changed: 0, page: "", clear() {
    walk.frames = [];
  }};
  Object.assign(window, {walk});

  const quick = window.fetch;
  window.fetch = (...asked) => {
    walk.pending += 1;
    return quick(...asked).finally(() => {
      walk.pending -= 1;
    });
  };

  /** The event that the page shows, null while it shows none. */
  function shownSeq() {
    const [field, time] = ["input#seq", "input#time"].map((id) => document.querySelector(id));
    // While it has the focus it says what was typed.
    if (!field || field === document.activeElement || document.querySelector(WAITS)) return null;
    const isReading = words(document.querySelector("main [role=status]")).startsWith("Reading");
    return isReading || !/^[\d.]+$/.test(field.value + time.value) ? null : Number(field.value);
  }

  function frame() {
    const seq = shownSeq();
    const main = document.querySelector("main");
    if (seq === null || !main) return null;
    const time = document.querySelector("input#time").value;
    return {seq, time, facts: FACTS[walk.page]?.() ?? {}, text: main.textContent};
  }

  function note() {
    if (walk.changed > 0 || walk.frames.length === 0) {
      const now = frame();
      const text = JSON.stringify(now);
      if (now && walk.last !== text) walk.frames.push(now);
      walk.last = text;
    }
    walk.rest = walk.changed > 0 || walk.pending > 0 ? 0 : (walk.rest ?? 0) + 1;
    walk.changed = 0;
    requestAnimationFrame(note);
  }

  new MutationObserver((changes) => {
    walk.changed += changes.length;
  }).observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
  requestAnimationFrame(note);

  /** Whether the page shows event *seq*, or anything where that is null, and nothing is on its way. */
  walk.rests = (seq) => (seq === null || shownSeq() === seq) && walk.rest >= FRAMES_AT_REST;

  // ---- texts and their boxes

  /** Short, and the same for all elements of a kind: "table.mx > td.bad > span.cut". */
  function selectorOf(element) {
    const parts = [];
    for (let each = element; each && parts.length < 4 && each !== document.body; each = each.parentElement) {
      const [first] = each.classList;
      parts.unshift(each.id && !/\d/.test(each.id) ? `#${each.id}` : each.localName + (first ? `.${first}` : ""));
      if (each.id) break;
    }
    return parts.join(" > ");
  }

  function isHidden(element) {
    return !element.checkVisibility({visibilityProperty: true, opacityProperty: true}) || element.closest(".vh, [aria-hidden=true], .sprite, noscript, option");
  }

  const styles = new Map();
  function styleOf(element) {
    if (!styles.has(element)) styles.set(element, getComputedStyle(element));
    return styles.get(element);
  }

  const intersect = (a, b) => ({
    left: Math.max(a.left, b.left), right: Math.min(a.right, b.right), top: Math.max(a.top, b.top), bottom: Math.min(a.bottom, b.bottom),
  });
  const isEmpty = ({left, right, top, bottom}) => right - left < 1 || bottom - top < 1;

  /** The visible part of a text's line, and whether a box without a scroll bar hides some of it. */
  function clipped(element, line) {
    let [seen, cut] = [line, false];
    for (let each = element; each && each !== document.documentElement; each = each.parentElement) {
      const style = styleOf(each);
      if (style.position === "fixed") break;
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const box = each.getBoundingClientRect();
      const hides = [style.overflowX, style.overflowY].map((way) => way === "hidden" || way === "clip");
      if (each === document.body) continue;
      if (hides[0] && (seen.right > box.right + TOUCH || seen.left < box.left - TOUCH)) cut = true;
      if (hides[1] && (seen.bottom > box.bottom + TOUCH || seen.top < box.top - TOUCH)) cut = true;
      seen = intersect(seen, box);
    }
    return {seen, cut};
  }

  /** The words that an element offers for those that it hides. */
  function said(element) {
    const texts = [];
    for (let each = element; each && each.localName !== "main"; each = each.parentElement)
      texts.push(each.getAttribute("title") ?? "", each.getAttribute("aria-label") ?? "");
    return texts.join(" ").replace(/\s+/g, " ");
  }

  function linesOf() {
    const found = [];
    const range = document.createRange();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT, (node) =>
      node.data.trim() === "" || !node.parentElement || isHidden(node.parentElement) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT,
    );
    while (texts.nextNode()) {
      const {currentNode: node} = texts;
      const {parentElement: element} = node;
      range.selectNodeContents(node);
      for (const {left, right, top, bottom} of range.getClientRects()) {
        const slim = (bottom - top) * LEADING;
        const line = {left, right, top: top + slim, bottom: bottom - slim};
        const {seen, cut} = clipped(element, line);
        found.push({node, element, seen, cut, text: node.data.replace(/\s+/g, " ").trim()});
      }
    }
    return found;
  }

  /** Over the others on purpose: a dialog, a popover, a bar that stays while the page scrolls. */
  function floats(element) {
    for (let each = element; each; each = each.parentElement) {
      if (["fixed", "sticky"].includes(styleOf(each).position) || each.matches("dialog, .pop, .menubody")) return true;
    }
    return false;
  }

  function* overlaps(lines) {
    const open = lines.filter(({seen, element}) => !isEmpty(seen) && !floats(element)).sort((a, b) => a.seen.top - b.seen.top);
    for (let i = 0; i < open.length; i += 1) {
      for (let j = i + 1; j < open.length && open[j].seen.top < open[i].seen.bottom - TOUCH; j += 1) {
        const both = intersect(open[i].seen, open[j].seen);
        if (open[i].node !== open[j].node && both.right - both.left > TOUCH && both.bottom - both.top > TOUCH) yield [open[i], open[j]];
      }
    }
  }

  /** What is wrong with the boxes of the page as it stands: {kind, selector, text}. */
  walk.measure = () => {
    styles.clear();
    const found = [];
    const lines = linesOf();
    for (const {element, cut, text} of lines) {
      if (cut && !said(element).includes(text)) found.push({kind: "cut", selector: selectorOf(element), text});
    }
    for (const [one, other] of overlaps(lines)) {
      found.push({kind: "overlap", selector: `${selectorOf(one.element)} and ${selectorOf(other.element)}`, text: `${one.text} | ${other.text}`});
    }
    const wide = document.documentElement.scrollWidth - innerWidth;
    if (wide > 1) found.push({kind: "sideways", selector: widest(), text: `${wide} px`});
    return found;
  };

  function widest() {
    const out = all("body *").filter((each) => {
      const box = each.getBoundingClientRect();
      return box.right > innerWidth + 1 && box.width > 0 && !isEmpty(clipped(each.parentElement, box).seen) && clipped(each.parentElement, box).seen.right > innerWidth + 1;
    });
    return out.length > 0 ? selectorOf(out.at(-1)) : "body";
  }
})();
