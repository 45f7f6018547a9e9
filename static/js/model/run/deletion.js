/** The question to confirm before a run is deleted. */
import {count} from "../shared/format.js";

/** The question about *run*, as /api/runs/ID/ describes it: {title, lines}. */
export function deletionOf(run) {
  const lines = [`Deletes its ${things(run.head, "event")} and everything else that it recorded.`];
  if (run.status === "playing") lines.push("It is playing and is stopped first.");
  if (run.forks === 1) lines.push("Its fork keeps its own history.");
  if (run.forks > 1) lines.push(`Its ${things(run.forks, "fork")} keep their own history.`);
  return {title: `Delete run ${run.name} #${run.id}?`, lines: [...lines, "This cannot be undone."]};
}

function things(number, name) {
  return `${count(number)} ${name}${number === 1 ? "" : "s"}`;
}
