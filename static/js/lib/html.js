import htm from "htm";
import {h} from "preact";

/** Tagged template that makes preact nodes. */
export const html = htm.bind(h);
