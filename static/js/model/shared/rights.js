import {gettext} from "../../lib/words.js";

/** Why a control is disabled, for its title. */
export const READ_ONLY = gettext("You can view this run but not change it.");
export const NO_FORK = gettext("You are not allowed to create runs.");
