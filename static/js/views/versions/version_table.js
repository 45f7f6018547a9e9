/** The table of rules that the server has written: reads its rows, hides rows and columns. */
export class VersionTable {
  constructor(table, none) {
    this.table = table;
    this.none = none;
    this.rows = [...table.querySelectorAll("tr[data-area]")];
    this.rules = this.rows.map((row) => ({
      area: row.dataset.area,
      plugin: row.dataset.plugin,
      values: [...row.querySelectorAll("td")].map((cell) => cell.textContent),
    }));
  }

  /** Show the rules at these places, and the columns of these versions. */
  draw(shown, versions) {
    this.rows.forEach((row, place) => {
      row.hidden = !shown.has(place);
      hideColumns(row, versions);
    });
    hideColumns(this.table.tHead.rows[0], versions);
    for (const body of this.table.tBodies) {
      body.hidden = ![...body.rows].some((row) => row.dataset.area && !row.hidden);
    }
    this.table.hidden = shown.size === 0;
    this.none.hidden = shown.size > 0;
  }
}

function hideColumns(row, versions) {
  [...row.cells].slice(1).forEach((cell, place) => {
    cell.hidden = !versions.includes(place);
  });
}
