import {connectFork} from "./controllers/fork.js";

connectFork(document.querySelector("#fork-here"), document.querySelector("#fork-dialog"));
