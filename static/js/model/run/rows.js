/**
 * The rows of a window as [id, object] at the event that the model has. An object that is gone since the rows were put in
 * order keeps its place, as undefined; one that comes later is left out.
 */
export function rowsThere({rows, seq}, {entities, seq: shown}) {
  return rows.map(({id}) => [id, entities.get(id)]).filter(([, object]) => object !== undefined || seq < shown);
}

/** A value of the address if it is one of those *known*, else "". */
export function oneOf(known, value) {
  return known.includes(value) ? value : "";
}

/** The place of the first row of a page as the address names it, counted from 1: page "3" of 200 rows is 400. */
export function firstOf(page, rows) {
  return Math.max(0, (parseInt(page, 10) || 1) - 1) * rows;
}

/** The page and the number of pages of a window of rows. */
export function pagesOf({first, found}, rows) {
  return {page: Math.floor(first / rows), pages: Math.max(1, Math.ceil(found / rows))};
}
