import {render} from "preact";

import {Address} from "./controllers/session/address.js";
import {Filters} from "./controllers/session/filters.js";
import {startRunPage} from "./controllers/session/run_page.js";
import {Candidates} from "./controllers/volumes/candidates.js";
import {Chosen} from "./controllers/volumes/chosen.js";
import {VolumeList} from "./controllers/volumes/volume_list.js";
import {followWhy} from "./controllers/why/why_again.js";
import {element} from "./lib/dom.js";
import {html} from "./lib/html.js";
import {VolumesPage} from "./views/volumes/volumes_page.js";

const root = element("#volumes");
const session = startRunPage(root, new Address());
const chosen = new Chosen(session);
session.subject = () => chosen.id.value;
const filters = new Filters(session.address, ["find", "rows", "sort", "order"]);
const list = new VolumeList(session, chosen, filters);
const candidates = new Candidates(session, chosen);

render(html`<${VolumesPage} session=${session} chosen=${chosen} candidates=${candidates} list=${list} />`, root);
chosen.start();
candidates.start();
followWhy(session);
filters.start();
list.start();
session.start();
