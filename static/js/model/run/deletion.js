/** The question to confirm before a run is deleted. */
import {gettext, ngettext} from "../../lib/words.js";

/** The question about *run*, as /api/v1/runs/ID/ describes it: {title, lines}. */
export function deletionOf(run) {
  const lines = [
    ngettext(
      "Deletes its {count} event and everything else that it recorded.",
      "Deletes its {count} events and everything else that it recorded.",
      run.head,
    ),
  ];
  if (run.status === "playing") lines.push(gettext("It is playing and is stopped first."));
  if (run.forks > 0)
    lines.push(ngettext("Its fork keeps its own history.", "Its {count} forks keep their own history.", run.forks));
  return {
    title: gettext("Delete run {name} #{id}?", {name: run.name, id: run.id}),
    lines: [...lines, gettext("This cannot be undone.")],
  };
}
