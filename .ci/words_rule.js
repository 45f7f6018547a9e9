/**
 * ESLint's rules about words of pages. Each text that a reader sees is one sentence of the catalogue:
 *
 * - `words/catalogue`: no text of a page, and no text that is given a name of TEXTS, is written outside gettext.
 * - `words/whole`: nothing is glued. A message is a literal; its places hold no words of ours; no template literal has
 *   words, no list is joined by hand, no element has two messages beside each other.
 *
 * Content of <code> and <kbd> are names and keys. Messages of errors that only the console shows are for programmers.
 */
import {treeOf} from "./htm.js";

const LETTER = /\p{L}/u;
/** Names as code writes them, which no language changes: ReplicaSet, nodeName, Gate=true, pod/shop/web-1, YAML. */
const NAMES = /\b[\w.-]+[=/][\w./=,-]*|\b[\w-]+(?:\.[\w-]+)+|\b\p{L}\p{Ll}+(?:\p{Lu}\p{Ll}*)+\b|\b\p{Lu}{2,}\b/gu;
/** Phases, conditions, points and codes of Kubernetes that are one word of English. */
const KUBERNETES = new Set([
  ...["Available", "Bound", "Failed", "Lost", "Pending", "Ready", "Released", "Running", "Succeeded", "Terminating"],
  ...["Assume", "Bind", "Filter", "Permit", "Pop", "Reserve", "Score", "Skip", "Success"],
]);
/** A part of a sentence, or a place that stands in a word or at another place. */
const FRAGMENT = /^[\s,;:.]|\s$|\p{L}\{|\}\p{L}|\}\{/u;
/** A word beside another one, or beside a place: not an id, a class or a path. */
const WORDS = /\p{L}{2,}[,;:.]? (?=\p{L}|$)|\p{L}[,;:.]? (?=\p{L}{2})|^ \p{L}{2,}|\p{L}{2,}[.!?…]$/u;
/** What stands between two places of a sentence or the members of a list. */
const BETWEEN = /^[,;:.] $|^; | and | or |^, /;

const MESSAGES = {gettext: 1, gettextNoop: 1, ngettext: 2};
/** Attributes that are shown or read out, and properties that hold what is. */
const TEXT_ATTRIBUTES = new Set(["title", "aria-label", "aria-description", "aria-valuetext", "placeholder", "alt"]);
const TEXTS = new Set([
  "words",
  "text",
  "title",
  "label",
  "detail",
  "sentence",
  "note",
  "heading",
  "caption",
  "question",
]);
const SHOWN = new Set(["textContent", "title", "placeholder", "ariaLabel", "alt"]);
/** Attributes, properties and names of variables that hold what is not shown: classes, styles, addresses, paths. */
const CODE =
  /^(class|className|style|href|src|id|key|d|for|path|points|transform|viewBox|font|filter|selector|look|data-.*)$/i;
const CODE_NAMES = /(class|style|look|color|font|selector|href|query|path|url|key|id|field)s?$/i;
/** Calls of which the arguments are not shown. */
const CODE_CALLS = new Set([
  ...["querySelector", "querySelectorAll", "closest", "matches", "element", "optional", "given", "getAttribute"],
  ...["startsWith", "endsWith", "includes", "split", "setAttribute", "addEventListener", "setProperty", "getContext"],
  ...["assert", "matchMedia", "get", "has", "set", "replace", "replaceAll", "test", "exec", "indexOf"],
]);
const SENTENCE_CALLS = /(Words|Sentence)$/;

const wordsIn = (text) => text.replace(NAMES, "").replace(/\p{L}+/gu, (word) => (KUBERNETES.has(word) ? "" : word));
const hasLetter = (text) => LETTER.test(wordsIn(text));
const hasSentence = (text) => WORDS.test(wordsIn(text));

const isCall = (node, names) =>
  node?.type === "CallExpression" && names.has(node.callee.name ?? node.callee.property?.name);
/** Whether a call sets an attribute that is shown. */
const setsText = (node) =>
  node.callee.property?.name === "setAttribute" && TEXT_ATTRIBUTES.has(node.arguments[0]?.value);
const isMessage = (node) => isCall(node, new Set(["gettext", "ngettext"]));

export const catalogue = {
  meta: {type: "problem", schema: [], messages: {outside: 'Write "{{text}}" through gettext.'}},
  create(context) {
    const told = new Set();
    const report = (node, text) => {
      if (!told.has(node))
        context.report({node, messageId: "outside", data: {text: text.trim().replace(/\s+/g, " ").slice(0, 60)}});
      told.add(node);
    };
    return {
      TaggedTemplateExpression(node) {
        if (node.tag.name === "html") checkPage(treeOf(node), report);
      },
      Literal(node) {
        if (typeof node.value !== "string" || !hasLetter(node.value) || isCode(node)) return;
        if (hasSentence(node.value) || isNamedText(node)) report(node, node.value);
      },
    };
  },
};

function checkPage({name, attributes, kids}, report) {
  const isShown = (each) => TEXT_ATTRIBUTES.has(each) || (name === "component" && TEXTS.has(each));
  for (const {text, node, at} of attributes.filter((each) => isShown(each.name))) {
    if (hasLetter(text)) report(at, text);
    checkShown(node, report);
  }
  for (const kid of kids) {
    if (kid.kids) checkPage(kid, report);
    else if (kid.node) checkShown(kid.node, report);
    else if (kid.text && hasLetter(kid.text) && name !== "code" && name !== "kbd") report(kid.at, kid.text);
  }
}

/** An expression of which the value is shown. */
function checkShown(node, report) {
  if (node?.type === "Literal" && typeof node.value === "string" && hasLetter(node.value)) report(node, node.value);
  if (node?.type === "ConditionalExpression")
    [node.consequent, node.alternate].forEach((each) => checkShown(each, report));
  if (node?.type === "LogicalExpression") checkShown(node.right, report);
}

/** Whether a literal is the value of a property or an attribute that is shown, or may be: `a ? "b" : "c"`. */
function isNamedText(node) {
  const {parent} = node;
  if (parent.type === "ConditionalExpression" && parent.test !== node)
    return isMessage(parent.consequent) || isMessage(parent.alternate) || isNamedText(parent);
  if (parent.type === "LogicalExpression") return isNamedText(parent);
  if (parent.type === "AssignmentExpression") return SHOWN.has(parent.left.property?.name);
  if (parent.type === "CallExpression") return parent.arguments[1] === node && setsText(parent);
  if (parent.type === "Property" && parent.value === node) return TEXTS.has(parent.key.name);
  return false;
}

/** Whether a literal is a name, an id or a message for programmers. */
function isCode(node) {
  for (let each = node, up = node.parent; up; [each, up] = [up, up.parent]) {
    if (isCall(up, new Set(Object.keys(MESSAGES)))) return true;
    if (up.type === "ThrowStatement" || up.type === "ImportDeclaration" || up.type === "ExportAllDeclaration")
      return true;
    if (up.type === "NewExpression" && up.callee.name !== "Map") return true;
    if (up.type === "CallExpression" && up.callee !== each && isCall(up, CODE_CALLS) && !setsText(up)) return true;
    if (up.type === "BinaryExpression" || up.type === "SwitchCase") return true;
    if (up.type === "MemberExpression" && up.property === each) return true;
    if (up.type === "Property" && up.value === each && TEXTS.has(up.key.name)) return false;
    if (up.type === "Property" && (up.key === each || CODE.test(up.key.name ?? up.key.value ?? ""))) return true;
    if (up.type === "VariableDeclarator" && CODE_NAMES.test(up.id.name ?? "")) return true;
    if (up.type === "TemplateLiteral" && up.parent.type === "TaggedTemplateExpression")
      return isCodeAttribute(up, each);
    if (/Function|Statement|Program/.test(up.type)) return up.type === "ExpressionStatement" && "directive" in up;
  }
  return false;
}

/** Whether an expression of a page is the value of an attribute like class or style. */
function isCodeAttribute(template, expression) {
  const {raw} = template.quasis[template.expressions.indexOf(expression)].value;
  const attribute = /\s([\w:@-]+)=$/.exec(raw)?.[1];
  return (
    attribute !== undefined &&
    !TEXT_ATTRIBUTES.has(attribute) &&
    (CODE.test(attribute) || attribute.startsWith("aria-") || /^[a-z]+$/.test(attribute) === false)
  );
}

export const whole = {
  meta: {
    type: "problem",
    schema: [],
    messages: {
      literal: "The message of a catalogue is a literal.",
      fragment: "“{{text}}” is a part of a sentence: write the whole one.",
      name: "“{{text}}” is Kubernetes' own name: it is in no catalogue.",
      plural: "What shows a {count} has plural forms: ngettext.",
      place: "Words are no place of a sentence: write one whole sentence for each case.",
      glued: "Write one sentence with named places in place of parts: gettext, or listText, sentences and clauses.",
      joined: "Join with listText, sentences or clauses of lib/words.js.",
      beside: "Two messages beside each other in <{{name}}>: write one sentence.",
    },
  },
  create(context) {
    const report = (node, messageId, data) => context.report({node, messageId, data});
    const scopeOf = (node) => context.sourceCode.getScope(node);
    return {
      CallExpression(node) {
        const many = MESSAGES[node.callee.name];
        if (many) checkCall(node, many, {report, scopeOf});
        if (node.callee.property?.name === "join" && isSeparator(node.arguments[0]))
          report(node.arguments[0], "joined");
      },
      TemplateLiteral(node) {
        if (node.parent.type === "TaggedTemplateExpression" || isCode(node)) return;
        const texts = node.quasis.map(({value}) => value.cooked);
        if (
          texts.some(hasSentence) ||
          texts.slice(1, -1).some((text) => BETWEEN.test(text)) ||
          (node.expressions.length > 0 && /^[,;:.] |^, /.test(texts.at(-1))) ||
          node.expressions.some(isChoiceOfWords)
        )
          report(node, "glued");
      },
      BinaryExpression(node) {
        if (node.operator === "+" && (isMessage(node.left) || isMessage(node.right))) report(node, "glued");
      },
      TaggedTemplateExpression(node) {
        if (node.tag.name === "html") checkKids(treeOf(node), {report, node});
      },
    };
  },
};

/** `number === 1 ? "pod" : "pods"`: a plural form by hand. */
const isChoiceOfWords = ({type, test, consequent, alternate}) =>
  type === "ConditionalExpression" &&
  test.right?.value === 1 &&
  [consequent, alternate].some(({value}) => typeof value === "string" && hasLetter(value));

const isSeparator = (node) => typeof node?.value === "string" && /[,;:.] | \p{L}+ /u.test(node.value);

function checkCall(node, many, {report, scopeOf}) {
  const messages = node.arguments.slice(0, many);
  if (messages.some(({type, value}) => type !== "Literal" || typeof value !== "string")) report(node, "literal");
  messages.forEach((message) => checkMessage(message, node.callee.name === "ngettext", report));
  const places = node.arguments[node.callee.name === "ngettext" ? 3 : 1];
  for (const {value} of places?.properties ?? []) if (hasWords(value, scopeOf)) report(value, "place");
}

function checkMessage(message, isPlural, report) {
  const text = String(message.value);
  if (FRAGMENT.test(text.replace(/<\/?\w+>/g, ""))) report(message, "fragment", {text});
  else if (!hasLetter(text.replace(/\{\w+\}/g, "")) && LETTER.test(text.replace(/\{\w+\}/g, "")))
    report(message, "name", {text});
  if (!isPlural && text.includes("{count}")) report(message, "plural");
}

/** Whether the value of a place is words of ours: written here, or in the variable that it names. */
function hasWords(node, scopeOf) {
  switch (node?.type) {
    case "Literal":
      return typeof node.value === "string" && hasLetter(node.value);
    case "TemplateLiteral":
      return node.quasis.some(({value}) => hasSentence(value.cooked));
    case "ConditionalExpression":
      return hasWords(node.consequent, scopeOf) || hasWords(node.alternate, scopeOf);
    case "LogicalExpression":
      return hasWords(node.left, scopeOf) || hasWords(node.right, scopeOf);
    case "CallExpression":
      return isMessage(node) || SENTENCE_CALLS.test(node.callee.name ?? "");
    case "Identifier":
      return hasWords(initOf(node, scopeOf(node)), scopeOf);
    default:
      return false;
  }
}

/** What a constant is set to where it is declared; undefined for anything else. */
function initOf({name}, scope) {
  for (let each = scope; each; each = each.upper) {
    const [definition] = each.set.get(name)?.defs ?? [];
    if (definition) return definition.node.id?.name === name ? definition.node.init : undefined;
  }
  return undefined;
}

function checkKids({name, kids}, {report, node}) {
  let before = false;
  for (const kid of kids) {
    if (kid.kids) {
      before = false;
      checkKids(kid, {report, node});
    } else if (kid.node) {
      const says = saysMessage(kid.node);
      if (says && before) report(kid.node, "beside", {name: name || "html"});
      before = says || (before && !saysElement(kid.node));
    } else if (/[,;:.]/.test(kid.text)) report(kid.at, "glued");
  }
}

const saysMessage = (node) =>
  isMessage(node) ||
  (node.type === "ConditionalExpression" && (saysMessage(node.consequent) || saysMessage(node.alternate))) ||
  (node.type === "LogicalExpression" && saysMessage(node.right));
const saysElement = (node) => node.type === "TaggedTemplateExpression" || (node.right && saysElement(node.right));

export const words = {rules: {catalogue, whole}};
