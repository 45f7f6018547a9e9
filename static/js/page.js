import {connectMenus} from "./controllers/site/menu.js";
import {connectPalette} from "./controllers/palette/palette.js";
import {connectPictures} from "./controllers/picture/pictures.js";
import {connectTheme} from "./controllers/site/theme.js";
import {connectTerms} from "./controllers/terms/explained.js";
import {readJson} from "./lib/api.js";

connectTheme(document.querySelector("#theme"));
connectMenus(document);
connectPalette();
if (document.body.dataset.words) void connectTerms(() => readJson(document.body.dataset.words));
connectPictures();
