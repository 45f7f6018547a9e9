import {gettext} from "../../lib/words.js";

/** The button that switches between light and dark, and remembers the choice. */
export function connectTheme(button) {
  const root = document.documentElement;
  const say = () => {
    const other = root.dataset.theme === "dark" ? "light" : "dark";
    button.setAttribute("aria-label", `Theme is ${root.dataset.theme}, switch to ${other}`);
    button.title = gettext("Switch to {other}", {other});
  };
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    say();
    dispatchEvent(new Event("themechange"));
  });
  say();
}
