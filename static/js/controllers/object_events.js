const PAGE = 1000;
/** Of an object with a longer history the beginning is left out. */
const MOST_PAGES = 5;

/** The events about an object that come after those at hand, oldest first. */
export async function newerEvents(api, id, atHand) {
  const latest = atHand.at(-1)?.seq;
  const found = [];
  for (let page = 0, before = null; page < MOST_PAGES; page += 1) {
    const answer = await api.get("events/", {
      object: id, after: latest, before, limit: PAGE, order: "desc",
    });
    found.push(...answer.events);
    if (answer.next === null) break;
    before = answer.next;
  }
  return found.filter(({seq}) => seq > (latest ?? 0)).reverse();
}
