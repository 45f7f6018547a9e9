import {gettext} from "../../lib/words.js";

const TO_LIGHT = [gettext("Theme is dark, switch to light"), gettext("Switch to light")];
const TO_DARK = [gettext("Theme is light, switch to dark"), gettext("Switch to dark")];

/** The button that switches between light and dark, and remembers the choice. */
export function connectTheme(button) {
  const root = document.documentElement;
  const say = () => {
    const [spoken, title] = root.dataset.theme === "dark" ? TO_LIGHT : TO_DARK;
    button.setAttribute("aria-label", spoken);
    button.title = title;
  };
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    localStorage.setItem("theme", root.dataset.theme);
    say();
    dispatchEvent(new Event("themechange"));
  });
  say();
}
