import {connectTheme} from "./controllers/theme.js";

connectTheme(document.querySelector("#theme"));
