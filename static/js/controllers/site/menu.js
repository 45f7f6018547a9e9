/** Open menus close when something else is pressed, or Escape. */
export function connectMenus(page) {
  const close = (except) => {
    for (const menu of page.querySelectorAll("details.menu[open]")) {
      if (!except || !menu.contains(except)) menu.open = false;
    }
  };
  page.addEventListener("click", (event) => close(event.target));
  page.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close(null);
  });
}
