import {connectShare} from "./controllers/share.js";

connectShare(document.querySelector("#share"), document.querySelector("#share-dialog"));
