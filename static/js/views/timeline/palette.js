const FAMILIES = ["ready", "working", "clock", "promised", "settled", "stuck", "held"];
const TOKENS = {
  ink: "--ink",
  ink2: "--ink-2",
  ink3: "--ink-3",
  line: "--line",
  strongLine: "--line-strong",
  surface: "--surface",
  bg: "--bg",
  sunk: "--surface-sunk",
  sel: "--surface-sel",
  solid: "--solid",
};

const known = new Map();

/** The tokens of the theme as colours and fonts of a canvas, read once for each theme. */
export function palette() {
  const theme = document.documentElement.dataset.theme ?? "";
  if (!known.has(theme)) known.set(theme, read(getComputedStyle(document.documentElement)));
  return known.get(theme);
}

function read(style) {
  const token = (name) => style.getPropertyValue(name).trim();
  const families = FAMILIES.map((family) => [
    family,
    {mark: token(`--${family}`), ink: token(`--${family}-ink`), tint: token(`--${family}-tint`)},
  ]);
  return {
    ...Object.fromEntries(Object.entries(TOKENS).map(([name, property]) => [name, token(property)])),
    ...Object.fromEntries(families),
    /** The colour of a component. */
    by: (component) => token(`--by-${component}`) || token("--held"),
    small: `10.5px ${token("--font-ui")}`,
    strong: `600 10.5px ${token("--font-ui")}`,
  };
}
