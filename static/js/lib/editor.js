/**
 * A field for YAML: CodeMirror in a shadow root, where its style sheet is a constructed one, which our content security
 * policy allows (ADR 0037).
 */
import {autocompletion} from "@codemirror/autocomplete";
import {yaml} from "@codemirror/lang-yaml";
import {HighlightStyle, syntaxHighlighting} from "@codemirror/language";
import {lintGutter, setDiagnostics} from "@codemirror/lint";
import {EditorState} from "@codemirror/state";
import {EditorView, hoverTooltip} from "@codemirror/view";
import {tags} from "@lezer/highlight";
import {basicSetup} from "codemirror";

const LOOK = EditorView.theme({
  "&": {color: "var(--ink)", backgroundColor: "var(--surface)", fontSize: "var(--t-small)", height: "100%"},
  ".cm-scroller": {fontFamily: "var(--font-mono)", lineHeight: "1.55", overflow: "auto"},
  ".cm-content": {caretColor: "var(--ink)"},
  ".cm-cursor": {borderLeftColor: "var(--ink)"},
  "&.cm-focused": {outline: "2px solid var(--focus)", outlineOffset: "-2px"},
  ".cm-gutters": {
    backgroundColor: "var(--surface-sunk)",
    color: "var(--ink-3)",
    borderRight: "1px solid var(--line)",
  },
  ".cm-activeLine": {backgroundColor: "transparent"},
  ".cm-activeLineGutter": {backgroundColor: "var(--surface-sel)"},
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--surface-sel)",
  },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--ink)",
    border: "1px solid var(--line-strong)",
    borderRadius: "var(--r-3)",
    boxShadow: "var(--shadow-2)",
    fontSize: "var(--t-small)",
    maxWidth: "min(52ch, 90vw)",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": {fontFamily: "var(--font-mono)"},
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "var(--surface-sel)",
    color: "var(--ink)",
  },
  ".cm-completionDetail": {color: "var(--ink-2)", fontStyle: "normal"},
  ".cm-completionMatchedText": {textDecoration: "none", fontWeight: "600"},
  ".words": {padding: "6px 10px", whiteSpace: "pre-line"},
  ".cm-panels": {backgroundColor: "var(--surface-sunk)", color: "var(--ink)"},
  ".cm-textfield, .cm-button": {backgroundImage: "none", backgroundColor: "var(--surface)", color: "var(--ink)"},
  ".cm-foldPlaceholder": {
    backgroundColor: "var(--surface-sunk)",
    color: "var(--ink-2)",
    border: "1px solid var(--line)",
  },
});

const COLOURS = HighlightStyle.define([
  {tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--ready-ink)"},
  {tag: [tags.string, tags.content], color: "var(--ink)"},
  {tag: [tags.number, tags.bool, tags.null, tags.keyword], color: "var(--promised-ink)"},
  {tag: [tags.comment, tags.lineComment], color: "var(--ink-3)"},
  {tag: tags.invalid, color: "var(--stuck-ink)"},
]);

/**
 * Make an editor of YAML in the element `host`.
 *
 * `label` names it. `complete({text, row, column, isAsked})` gives {from, options: [{label, detail, info, apply}]} or null,
 * `explain({text, row, column})` a text about what is under the pointer, or ""; both may take their time. Returns {text, write, show, goTo, destroy}.
 *
 * @param {HTMLElement} host
 * @param {{text: string, label: string, onChange: (text: string) => void, complete?: (place: any) => any, explain?: (place: any) => string | Promise<string>}} given
 */
export function makeEditor(host, {text, label, onChange, complete = () => null, explain = () => ""}) {
  const root = host.shadowRoot ?? host.attachShadow({mode: "open"});
  // The keys of the page are not for who is writing.
  host.addEventListener("keydown", keepKey);
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        basicSetup,
        yaml(),
        LOOK,
        syntaxHighlighting(COLOURS),
        lintGutter(),
        EditorView.contentAttributes.of({"aria-label": label, tabindex: "0"}),
        EditorView.domEventHandlers({beforeinput: replaceSelected}),
        autocompletion({override: [(context) => completed(context, complete)]}),
        hoverTooltip((of, position) => explained(of, position, explain)),
        EditorView.updateListener.of((update) => update.docChanged && onChange(update.state.doc.toString())),
      ],
    }),
  });
  return {
    get text() {
      return view.state.doc.toString();
    },
    /** Put another text in the place of this one. */
    write(other) {
      view.dispatch({changes: {from: 0, to: view.state.doc.length, insert: other}});
    },
    /** Mark lines, [{line, message, severity}]; the first line for what has none. */
    show(remarks) {
      view.dispatch(
        setDiagnostics(
          view.state,
          remarks.map((remark) => diagnostic(view.state.doc, remark)),
        ),
      );
    },
    /** Put the cursor on a line. */
    goTo(line) {
      const {from} = lineIn(view.state.doc, line);
      view.dispatch({selection: {anchor: from}, effects: EditorView.scrollIntoView(from, {y: "center"})});
      view.focus();
    },
    destroy() {
      host.removeEventListener("keydown", keepKey);
      view.destroy();
    },
  };
}

/** What is put around a selection, not in its place. */
const AROUND = "([{\"'";

/** Replace what is selected by what is typed. The browser would keep its look as inline style, which the policy forbids. */
function replaceSelected(event, view) {
  const isTyped = event.inputType === "insertText" && event.data !== null && !event.isComposing;
  if (!isTyped || view.state.selection.main.empty || AROUND.includes(event.data)) return false;
  view.dispatch(view.state.replaceSelection(event.data), {userEvent: "input.type", scrollIntoView: true});
  event.preventDefault();
  return true;
}

function keepKey(event) {
  if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
}

function placeOf(state, position) {
  const line = state.doc.lineAt(position);
  return {text: state.doc.toString(), row: line.number - 1, column: position - line.from};
}

async function completed(context, complete) {
  const place = placeOf(context.state, context.pos);
  const found = await complete({...place, isAsked: context.explicit});
  if (!found || found.options.length === 0) return null;
  return {...found, from: context.state.doc.lineAt(context.pos).from + found.from};
}

async function explained(view, position, explain) {
  const text = await explain(placeOf(view.state, position));
  if (!text) return null;
  const create = () => {
    const dom = document.createElement("div");
    dom.className = "words";
    dom.textContent = text;
    return {dom};
  };
  return {pos: position, above: true, create};
}

function diagnostic(doc, {line, message, severity}) {
  const {from, to, text} = lineIn(doc, line);
  return {from: from + (text.length - text.trimStart().length), to, severity, message};
}

function lineIn(doc, line) {
  return doc.line(Math.min(Math.max(line, 1), doc.lines));
}
