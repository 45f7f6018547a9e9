/** How far a reader is in a lesson: the step, and the option chosen at each step that asks. Pure. */

/** The step of an address, from 0; what is no step of the lesson is the first or the last. */
export function stepOf(search, steps) {
  const asked = Number.parseInt(new URLSearchParams(search).get("step") ?? "1", 10);
  return Math.min(Math.max(Number.isNaN(asked) ? 0 : asked - 1, 0), steps.length - 1);
}

/** The moment that a step shows: that of the step, or after an answer the one the run has played to. */
export function momentShown(step, answer) {
  return step.ask && answer !== undefined ? step.ask.then : step.at;
}

/** Whether the reader may go on: the last step ends the lesson, and a question wants an answer. */
export function mayGoOn(steps, at, answers) {
  return at < steps.length - 1 && !(steps[at].ask && answers[at] === undefined);
}

/** For each step: ask, right, wrong, read or ahead; `seen` is the furthest that was shown. */
export function progress(steps, at, answers, seen) {
  return steps.map((step, i) => {
    if (step.ask && answers[i] !== undefined) return step.ask.options[answers[i]]?.right ? "right" : "wrong";
    if (step.ask) return "ask";
    return i < seen || i < at ? "read" : "ahead";
  });
}

/** How many of the questions that were answered were answered right, and how many were answered. */
export function tally(steps, answers) {
  const asked = steps.map((step, i) => step.ask?.options[answers[i]]).filter(Boolean);
  return {right: asked.filter((option) => option.right).length, of: asked.length};
}

/** What is kept of a reader, as the browser stores it; null for what cannot be read. */
export function parseKept(text) {
  try {
    const {seen, answers} = JSON.parse(text ?? "");
    if (!Number.isInteger(seen) || typeof answers !== "object" || answers === null) return null;
    return {seen, answers};
  } catch {
    return null;
  }
}

/** Where each option of a question is on the picture: id → {number, look}; look is pick, answer or chosen. */
export function choices(step, answer) {
  const found = new Map();
  for (const [i, {entity, right}] of (step.ask?.options ?? []).entries()) {
    if (!entity) continue;
    if (answer === undefined) found.set(entity, {number: i + 1, look: "pick"});
    else if (right) found.set(entity, {number: i + 1, look: "answer"});
    else if (i === answer) found.set(entity, {number: i + 1, look: "chosen"});
  }
  return found;
}
