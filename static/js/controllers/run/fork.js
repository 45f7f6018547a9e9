import {RunApi} from "../../lib/api.js";
import {gettext} from "../../lib/words.js";
import {parseGates} from "../../model/run/gates.js";
import {count, timeText} from "../../model/shared/format.js";

const FORK_MS = 120_000;

/** Connects the button "Fork here" with its dialog. */
export function connectFork(session, button, dialog) {
  const form = dialog.querySelector("form");
  const problem = dialog.querySelector("#fork-problem");
  const make = dialog.querySelector("#fork-make");
  /** The event that was shown when the dialog was opened; the run may continue meanwhile. */
  let seq = null;

  button.addEventListener("click", () => {
    const {model, isWaiting, place} = session;
    seq = isWaiting && !place.past ? null : place.seq;
    dialog.querySelector("#fork-place").textContent = placeWords(seq, isWaiting ? null : model.at);
    problem.textContent = "";
    dialog.showModal();
  });
  dialog.querySelector("#fork-cancel").addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    make.disabled = true;
    try {
      const fields = Object.fromEntries(new FormData(form));
      const body = {seq, ...fields, feature_gates: parseGates(fields.feature_gates)};
      const fork = await new RunApi(form.dataset.run).post("fork/", body, {longestMs: FORK_MS});
      session.address.open(session.hrefInRun(fork.id));
    } catch (error) {
      problem.textContent = error.message;
      make.disabled = false;
    }
  });
}

function placeWords(seq, at) {
  if (seq === null) return gettext("after the newest event");
  return at === null
    ? gettext("after event {seq}", {seq: count(seq)})
    : gettext("after event {seq}, at {time}", {seq: count(seq), time: timeText(at)});
}
