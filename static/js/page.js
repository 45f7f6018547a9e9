import {connectMenus} from "./controllers/site/menu.js";
import {connectPalette} from "./controllers/palette/palette.js";
import {connectTheme} from "./controllers/site/theme.js";

connectTheme(document.querySelector("#theme"));
connectMenus(document);
connectPalette();
