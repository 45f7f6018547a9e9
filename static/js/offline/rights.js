import {gettext} from "../lib/words.js";

/** Why a control is disabled, for its title. In the place of model/shared/rights.js. */
export const READ_ONLY = gettext("A file holds what was recorded. To change the run, open it in kscope.");
export const NO_FORK = gettext("A file holds what was recorded. To try a change in a fork, open the run in kscope.");
