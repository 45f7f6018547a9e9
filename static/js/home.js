import {connectCourses} from "./controllers/home/courses.js";
import {Living} from "./controllers/home/living.js";
import {connectSearchKey} from "./controllers/site/search_key.js";
import {RunList} from "./controllers/site/run_list.js";
import {connectUploads} from "./controllers/site/upload.js";
import {readJson} from "./lib/api.js";
import {optional} from "./lib/dom.js";

/** @type {NodeListOf<HTMLElement>} */
const found = document.querySelectorAll("tr[data-run]");
const rows = new Map([...found].map((row) => [row.dataset.run, row]));

connectUploads();
connectCourses();
connectSearchKey();
new RunList(rows, (path) => readJson(`/api/v1/runs/${path}`)).start();

const figure = optional("#live");
const data = figure && (await readJson(figure.dataset.replay));
if (data) new Living(figure, data).start();
