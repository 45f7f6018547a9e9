import {doingWords, sentWords, whyTooMuch} from "../../model/shared/upload.js";
import {connectCopying} from "./copying.js";
import {connectDrop} from "./drop.js";
import {connectNodePicker} from "./node_picker.js";
import {sendForm} from "../../lib/api.js";
import {element} from "../../lib/dom.js";
import {gettext} from "../../lib/words.js";

const LINES = "application/x-ndjson";
const UNREACHABLE = gettext(
  "The server could not be reached, or has closed the connection. Nothing may have been saved.",
);

/**
 * Connects the upload forms of a page: they accept dropped files, and say what is being done with files until the
 * first look, or the report, is there. Without this the form is an ordinary one.
 */
export function connectUploads(root = document) {
  connectCopying(root);
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (root.querySelectorAll(".drop"))) {
    connectDrop(form);
    connectNodePicker(form);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      new Upload(form).send();
    });
    if ("atOnce" in form.dataset) sendAtOnce(form);
  }
}

/** Send files as soon as they are chosen or dropped; then nobody needs the button. */
function sendAtOnce(form) {
  sender(form).hidden = true;
  const send = () => form.requestSubmit();
  form.querySelector("input[type=file]").addEventListener("change", send);
  form.addEventListener("drop", send);
}

/** The button that sends the form; others in it copy a command, or add nodes. */
function sender(form) {
  return form.querySelector("button:not([type=button])");
}

/** One upload. */
class Upload {
  constructor(form) {
    this.form = form;
    this.button = sender(form);
    this.status = form.querySelector(".doing");
    /** How much of what the server has said was read. */
    this.read = 0;
    this.page = "";
    /** Where to go instead, if there is nothing wrong. */
    this.location = "";
  }

  send() {
    const files = [...this.form.querySelector("input[type=file]").files];
    const sizes = files.map((file) => file.size);
    const problem = whyTooMuch(sizes, Number(this.form.dataset.most));
    this.#say(problem);
    if (problem) return;
    this.button.disabled = true;
    sendForm(this.form, {
      accept: [LINES, "text/html"].join(),
      onSent: (loaded, total) => this.#say(sentWords(loaded, total)),
      onText: (request) => this.#readLines(request),
      onEnd: (request) => this.#end(request),
      onFail: () => this.#fail(UNREACHABLE),
    });
  }

  #readLines(request) {
    if (!isLines(request)) return;
    const lines = request.responseText.slice(this.read).split("\n");
    lines.pop(); // not complete yet
    for (const line of lines) {
      this.read += line.length + 1;
      const told = JSON.parse(line);
      if (told.doing) this.#say(doingWords(told));
      else [this.page, this.location] = [told.page ?? "", told.location ?? ""];
    }
  }

  #end(request) {
    this.#readLines(request);
    if (this.location) {
      location.assign(this.location);
      return;
    }
    const text = isLines(request) ? this.page : request.responseText;
    const shown = new DOMParser().parseFromString(text, "text/html");
    const main = shown.querySelector("main");
    if (request.responseURL && new URL(request.responseURL).pathname !== new URL(this.form.action).pathname) {
      location.assign(request.responseURL); // to the login, for example
    } else if (main) {
      this.#show(main);
    } else {
      this.#fail(shown.body.textContent.trim() || UNREACHABLE);
    }
  }

  /** Show the page that the form would have led to. */
  #show(main) {
    document.title = `${main.querySelector("h1").textContent} · kscope`;
    element("main").replaceWith(main);
    history.pushState(null, "", this.form.action);
    window.addEventListener("popstate", () => location.reload(), {once: true});
    window.scrollTo(0, 0);
    connectUploads(main);
  }

  #fail(words) {
    this.button.disabled = false;
    this.#say(words);
  }

  #say(words) {
    this.status.textContent = words;
  }
}

function isLines(request) {
  return (request.getResponseHeader("Content-Type") ?? "").startsWith(LINES);
}
