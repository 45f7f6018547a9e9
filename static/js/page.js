import {connectMenus} from "./controllers/menu.js";
import {connectTheme} from "./controllers/theme.js";

connectTheme(document.querySelector("#theme"));
connectMenus(document);
