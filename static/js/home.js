import {connectDrop} from "./controllers/site/drop.js";
import {RunList} from "./controllers/site/run_list.js";
import {readJson} from "./lib/api.js";

const rows = new Map([...document.querySelectorAll("tr[data-run]")].map((row) => [row.dataset.run, row]));

for (const form of document.querySelectorAll(".drop")) connectDrop(form);
new RunList(rows, (path) => readJson(`/api/runs/${path}`)).start();
