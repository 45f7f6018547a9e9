import {render} from "preact";

import {RowWindow} from "./controllers/run/row_window.js";
import {Address} from "./controllers/session/address.js";
import {Filters} from "./controllers/session/filters.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {PLACES} from "./model/pods/pod.js";
import {firstOf, oneOf} from "./model/run/rows.js";
import {PodListPage} from "./views/pods/pod_list.js";

const SIZE = 200;
const STATES = PLACES.map(([key]) => key);
const SORTS = ["name", "priority", "attempts"];

const root = element("#pods");
const session = startRunPage(root, new Address());
const filters = new Filters(session.address, ["name", "state", "page", "sort", "order"]);
const rows = new RowWindow(session, "pods", () => {
  const {name, state, page, sort, order} = filters.values.value;
  return {
    search: name.trim(),
    state: oneOf(STATES, state),
    sort: oneOf(SORTS, sort),
    order: oneOf(["desc"], order),
    from: firstOf(page, SIZE),
    count: SIZE,
  };
});

render(html`<${PodListPage} session=${session} filters=${filters} rows=${rows} size=${SIZE} />`, root);
filters.start();
rows.start();
session.start();
