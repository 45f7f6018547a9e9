/** The catalogue of tests: English, of which every place has to be filled. */
export {language, messages, plural} from "../../static/js/lib/english.js";

export const isStrict = true;
