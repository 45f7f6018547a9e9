import {readText} from "../../lib/api.js";
import {element} from "../../lib/dom.js";

const PAUSE_MS = 200;

/** Look for stories while one types: the server finds them, as it does when the form is sent. */
export function connectGallery(form) {
  let timer = 0;
  let asked = 0;
  const look = async () => {
    const mine = ++asked;
    const address = `${form.getAttribute("action")}?${new URLSearchParams(fieldsOf(form))}`;
    const text = await readText(address);
    if (text === null || mine !== asked) return;
    const page = new DOMParser().parseFromString(text, "text/html");
    element("#found").replaceWith(foundIn(page));
    history.replaceState(null, "", address);
  };
  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, PAUSE_MS);
  });
}

function foundIn(page) {
  return document.adoptNode(element("#found", {within: page}));
}

/** The fields of the form, without what is empty. */
function fieldsOf(form) {
  return [...new FormData(form)].filter(([, value]) => value !== "").map(([name, value]) => [name, String(value)]);
}
