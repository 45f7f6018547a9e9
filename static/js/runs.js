import {connectDelete} from "./controllers/run/delete.js";
import {RunList} from "./controllers/site/run_list.js";
import {connectUploads} from "./controllers/site/upload.js";
import {readJson} from "./lib/api.js";

/** @type {NodeListOf<HTMLElement>} */
const found = document.querySelectorAll("tr[data-run]");
const rows = new Map([...found].map((row) => [row.dataset.run, row]));

connectUploads();
connectDelete(document, () => location.reload());
new RunList(rows, (path) => readJson(`/api/v1/runs/${path}`)).start();
