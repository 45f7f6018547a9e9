import {html} from "../../lib/html.js";
import {gettext} from "../../lib/words.js";

/**
 * The button that asks once more for what could not be had. The file that plays offline has another module in this
 * place.
 *
 * @param {{retry: () => void, main?: boolean}} button `main` where it is the one thing to do.
 */
export function TryAgain({retry, main}) {
  return html`<button class="btn ${main ? "primary" : ""}" onClick=${retry}>${gettext("Try again")}</button>`;
}
