import {gettext} from "../../lib/words.js";
import {count} from "../shared/format.js";

const WORDS = {
  connecting: gettext("Connecting…"),
  waiting: gettext("Reconnecting…"),
  stalled: gettext("The server cannot read the run"),
  gone: gettext("This run was deleted"),
};

/**
 * What the top bar says: the state of the connection, and where that is fine, whether a worker moves
 * the run on. "Live" is only a run that needs none, or has one; a file has what was recorded. Returns {state, words}.
 */
export function connectionLook(connection, {worker, building, is_recorded: isRecorded}, past) {
  if (isRecorded) return {state: "open", words: gettext("Recorded")};
  if (WORDS[connection]) return {state: connection, words: WORDS[connection]};
  if (past) return {state: connection, words: gettext("Connected")};
  if (worker === "waiting") return {state: "stalled", words: gettext("Waiting for a worker")};
  if (worker === "building") return {state: "connecting", words: buildingWords(building)};
  return {state: connection, words: gettext("Live")};
}

function buildingWords(building) {
  if (!building?.of) return gettext("Building the first state…");
  return gettext("Building the first state: {objects} of {of} objects", {
    objects: count(building.objects),
    of: count(building.of),
  });
}
