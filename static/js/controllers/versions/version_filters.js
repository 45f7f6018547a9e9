import {countLine, isShown} from "../../model/versions/version_rules.js";

const TEXTS = ["area", "plugin"];

/** Draws the table of rules again whenever the user changes the form. The address keeps what was chosen. */
export class VersionFilters {
  constructor(form, table) {
    this.form = form;
    this.table = table;
  }

  start() {
    this.form.hidden = false;
    this.form.addEventListener("input", () => {
      this.apply();
      this.#write();
    });
    this.form.addEventListener("submit", (event) => event.preventDefault());
    if (location.search) this.#read();
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

  #read() {
    const {elements} = this.form;
    const query = new URLSearchParams(location.search);
    const without = query.getAll("without");
    for (const name of TEXTS) elements[name].value = query.get(name) ?? "";
    for (const box of elements.version) box.checked = !without.includes(versionOf(box));
    elements.differences.checked = query.has("differences");
  }

  #write() {
    const {elements} = this.form;
    const query = new URLSearchParams();
    for (const name of TEXTS) if (elements[name].value) query.set(name, elements[name].value);
    for (const box of elements.version) if (!box.checked) query.append("without", versionOf(box));
    if (elements.differences.checked) query.set("differences", "on");
    history.replaceState(null, "", query.size > 0 ? `?${query}` : location.pathname);
  }
}

function versionOf(box) {
  return box.parentElement.textContent.trim();
}
