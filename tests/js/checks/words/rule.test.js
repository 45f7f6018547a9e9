import {test} from "node:test";

import {RuleTester} from "eslint";

import {words} from "../../../../.ci/words_rule.js";

const tester = new RuleTester({languageOptions: {ecmaVersion: 2023, sourceType: "module"}});
const {catalogue, whole} = words.rules;

/** Cases of one kind: all of them pass, or each is one fault of the kind named. */
function passes(rule, codes) {
  tester.run("passes", rule, {valid: codes, invalid: []});
}

function fails(rule, messageId, codes) {
  tester.run("fails", rule, {valid: [], invalid: codes.map((code) => ({code, errors: [{messageId}]}))});
}

test("texts of a page come from the catalogue", () => {
  fails(catalogue, "outside", [
    "html`<p>Hello</p>`",
    'html`<p title="Open it">${x}</p>`',
    'html`<p>${isOn ? gettext("on") : "off"}</p>`',
    'html`<p>${isOn && "switched"}</p>`',
    'html`<p aria-label=${"Nodes"}>${x}</p>`',
    'html`<${Mark} title="Open it" />`',
    'x.textContent = "Save"',
    'x.setAttribute("aria-label", "Save")',
    'const look = {mark: "no", words: "failed"}',
    'const says = isBad ? "fails" : gettext("would fail")',
    'say("The run is finished")',
  ]);
});

test("names, keys and code are no texts", () => {
  passes(catalogue, [
    'html`<p class="small mute"><code>spec.nodeName</code> <kbd>Space</kbd></p>`',
    'html`<p class=${isOn ? "on strong" : ""}>${gettext("Hello")}</p>`',
    'html`<b>PreFilter</b> <i>Bound</i> <input placeholder="Gate=true" />`',
    'x.querySelector("main > p")',
    'throw new Error("the page has no such element")',
    'if (kind === "two words") go()',
    'const rowClass = "row now"',
    'import x from "some module"',
  ]);
});

test("a sentence is not glued from parts", () => {
  fails(whole, "glued", [
    "const a = `${x} of ${y}`",
    "const a = `${x}, ${y}`",
    "const a = `${name}: ${detail}`",
    'const a = `${n} ${n === 1 ? "pod" : "pods"}`',
    'const a = gettext("It waits") + x',
    "html`<p>${a}, ${b}</p>`",
  ]);
});

test("texts are not joined by hand", () => {
  fails(whole, "joined", ['a.join(", ")', 'a.join(" and ")', 'a.join("; ")']);
  passes(whole, ['a.join(" · ")', 'a.join("/")', "a.join()", 'a.join("\\n")']);
});

test("an element has one message beside others", () => {
  fails(whole, "beside", [
    'html`<p>${gettext("It waits")} ${gettext("for long")}</p>`',
    'html`<p>${a ? gettext("It waits") : ""}${ngettext("a", "b", n)}</p>`',
  ]);
  passes(whole, ['html`<p><b>${gettext("It waits")}</b> <i>${gettext("long")}</i></p>`']);
});

test("a message is a literal and whole", () => {
  fails(whole, "literal", ["gettext(text)", "gettext(`a ${b}`)"]);
  fails(whole, "fragment", [
    'gettext(" and more")',
    'gettext(", or")',
    'gettext("pod{s}", {s})',
    'gettext("{a}{b}", {a, b})',
  ]);
  fails(whole, "name", ['gettext("PreFilter")', 'gettext("Bound")']);
  fails(whole, "plural", ['gettext("{count} pods", {count})']);
});

test("words are no place of a sentence", () => {
  fails(whole, "place", [
    'gettext("It is {state}.", {state: "bound"})',
    'gettext("It is {state}.", {state: isOn ? gettext("on") : "off"})',
    'const state = gettext("on"); gettext("It is {state}.", {state})',
    'gettext("{since}: gone", {since: sinceWords(pod)})',
  ]);
  passes(whole, [
    'gettext("It is on {node}.", {node: pod.node})',
    'gettext("Read <link>this</link>.", {link: (words) => html`<a>${words}</a>`})',
    'gettext("Open {pod}.", {pod: html`<b>${name}</b>`})',
  ]);
});
