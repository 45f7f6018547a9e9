import {render} from "preact";

import {Address} from "./controllers/address.js";
import {Comparison} from "./controllers/comparison.js";
import {startRunPage} from "./controllers/run_page.js";
import {html} from "./lib/html.js";
import {parseSeq} from "./model/timeline.js";
import {ComparePage} from "./views/compare_page.js";

const told = (id) => JSON.parse(document.querySelector(id).textContent);
const root = document.querySelector("#compare");
const board = startRunPage(root, new Address());
const comparison = new Comparison(board, parseSeq(new URLSearchParams(location.search).get("with") ?? ""));

render(
  html`<${ComparePage} board=${board} comparison=${comparison} others=${told("#others")} profiles=${told("#profiles")} />`,
  root,
);
comparison.start();
board.start();
