import {html} from "../../lib/html.js";
import {Picture} from "./picture.js";
import {Tale} from "./tale.js";

/** A lesson: its text, and the run that it is about. */
export function LessonPage({reader}) {
  return html`<${Tale} reader=${reader} /><${Picture} reader=${reader} />`;
}
