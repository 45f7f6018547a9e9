/** Why a control is disabled, for its title. */
export const READ_ONLY = "You can view this run but not change it.";
export const NO_FORK = "You are not allowed to create runs.";
