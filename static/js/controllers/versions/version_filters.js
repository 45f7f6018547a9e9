import {countLine, isShown} from "../../model/versions/version_rules.js";

/** Draws the table of rules again whenever the user changes the form. */
export class VersionFilters {
  constructor(form, table) {
    this.form = form;
    this.table = table;
  }

  start() {
    this.form.hidden = false;
    this.form.addEventListener("input", () => this.apply());
    this.form.addEventListener("submit", (event) => event.preventDefault());
    // The browser may have kept what was chosen before the page was left.
    this.apply();
  }

  apply() {
    const {rules} = this.table;
    const choice = this.choice();
    const shown = new Set(rules.flatMap((rule, place) => (isShown(rule, choice) ? [place] : [])));
    this.table.draw(shown, choice.versions);
    this.form.elements.count.value = countLine(shown.size, rules.length);
  }

  choice() {
    const form = new FormData(this.form);
    return {
      area: form.get("area"),
      plugin: form.get("plugin"),
      versions: form.getAll("version").map(Number),
      differences: form.has("differences"),
    };
  }
}
