import {effect} from "@preact/signals";

const WAIT_MS = 120;

/** Keep the evidence of the selected pod's newest attempt, at the moment shown, at hand. */
export function followEvidence(board) {
  let key = "";
  let timer = null;
  effect(() => {
    const id = board.selected();
    const pod = id && board.model.entities.get(id);
    // Attempts count from the moment one begins; its outcome shows in where the pod is then.
    const next = pod ? [id, pod.attempts, pod.queue, pod.node, pod.assumed, pod.blocker?.attempt].join(" ") : "";
    if (next === key) return;
    key = next;
    clearTimeout(timer);
    if (!pod?.attempts) {
      board.evidence.value = null;
      return;
    }
    timer = setTimeout(() => load(board, id, () => key === next), WAIT_MS);
  });
}

async function load(board, id, wanted) {
  try {
    const pod = id.slice("pod/".length);
    const [newest] = await board.api.get("attempts/", {pod, seq: board.model.seq});
    const evidence = newest ? await board.api.get(`attempts/${newest.id}/`) : null;
    if (!wanted()) return;
    board.evidence.value = evidence && {id, evidence: {...newest, ...evidence}};
  } catch (error) {
    if (wanted()) board.notice.value = `The evidence of ${id} could not be read: ${error.message}`;
  }
}
