/** The catalogue of English, in which all words are written: none. Other languages come from kscope/words/catalogue.py. */

/** Sentences by their English: [translation, further plural forms…]. @type {Record<string, string[]>} */
export const messages = {};

/** Which of its forms a sentence takes for a number. @param {number} n @returns {number | boolean} */
export const plural = (n) => n !== 1;

/** How numbers are written. */
export const language = "en-US";

/** Whether a place that is missing or unknown is an error: where words are tested. */
export const isStrict = false;
