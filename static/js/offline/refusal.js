import {gettext} from "../lib/words.js";

/** What the file cannot answer, with a sentence that says why. Asking again would not help. */
export class Refusal extends Error {
  constructor(message, status = 501) {
    super(message);
    this.name = "Refusal";
    this.status = status;
    this.again = false;
  }
}

/** What the recording does not hold, and what would answer it. */
export const NEEDS_ENGINE = gettext(
  "This file holds what was recorded. To compute anything else takes an engine: open the run in kscope.",
);
