import {VersionFilters} from "./controllers/versions/version_filters.js";
import {VersionTable} from "./views/versions/version_table.js";

const table = new VersionTable(document.querySelector("#version-rules"), document.querySelector("#version-none"));
new VersionFilters(document.querySelector("#version-filters"), table).start();
