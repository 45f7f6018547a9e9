import {connectGallery} from "./controllers/home/gallery.js";
import {connectSearchKey} from "./controllers/site/search_key.js";
import {element} from "./lib/dom.js";

connectSearchKey();
connectGallery(element(".find", {kind: HTMLFormElement}));
