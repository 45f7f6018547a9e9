import {render} from "preact";

import {RowWindow} from "./controllers/run/row_window.js";
import {Address} from "./controllers/session/address.js";
import {Filters} from "./controllers/session/filters.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {firstOf, oneOf} from "./model/run/rows.js";
import {NodeListPage} from "./views/nodes/node_list.js";

const SIZE = 200;
const SORTS = ["name", "zone", "cpu", "memory", "pods", "volumes"];

const root = element("#nodes");
const session = startRunPage(root, new Address());
const filters = new Filters(session.address, ["name", "show", "page", "sort", "order"]);
const rows = new RowWindow(session, "nodes", () => {
  const {name, show, page, sort, order} = filters.values.value;
  return {
    search: name.trim(),
    state: oneOf(["stuck"], show),
    sort: oneOf(SORTS, sort),
    order: oneOf(["desc"], order),
    from: firstOf(page, SIZE),
    count: SIZE,
  };
});

render(html`<${NodeListPage} session=${session} filters=${filters} rows=${rows} size=${SIZE} />`, root);
filters.start();
rows.start();
session.start();
