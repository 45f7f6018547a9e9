import {connectDelete} from "./controllers/run/delete.js";
import {RunList} from "./controllers/site/run_list.js";
import {connectUploads} from "./controllers/site/upload.js";
import {readJson} from "./lib/api.js";

const rows = new Map([...document.querySelectorAll("tr[data-run]")].map((row) => [row.dataset.run, row]));

connectUploads();
connectDelete(document, () => location.reload());
new RunList(rows, (path) => readJson(`/api/runs/${path}`)).start();
