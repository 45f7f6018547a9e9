import {render} from "preact";

import {connectKeys} from "./controllers/lesson/keys.js";
import {Reader} from "./controllers/lesson/reader.js";
import {element, given} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {LessonPage} from "./views/lesson/lesson_page.js";

const root = element("#lesson");
const reader = new Reader(given("#lesson-data"), given("#lesson-after"));

root.replaceChildren();
render(html`<${LessonPage} reader=${reader} />`, root);
connectKeys(reader);
void reader.start();
