import css from "@eslint/css";
import js from "@eslint/js";
import globals from "globals";

import {words} from "./.ci/words_rule.js";

// The rooms of each layer, from the top down. A module imports from its own room and from the rooms below
// it; rooms in one pair of brackets do not import each other. The model imports neither views nor
// controllers, and views import no controllers.
const ROOMS = {
  controllers: [
    ["home", "terms"],
    [
      "board",
      "film",
      "pods",
      "volumes",
      "machines",
      "site",
      "versions",
      "triage",
      "first_look",
      "inside",
      "timeline",
      "lesson",
      "acting",
    ],
    ["nodes"],
    ["session"],
    ["run", "why"],
    ["palette"],
    ["picture"],
  ],
  views: [
    ["lesson", "home", "terms"],
    ["board", "film", "palette", "versions", "triage", "first_look", "inside", "timeline"],
    ["pods"],
    ["volumes", "nodes", "machines", "acting"],
    ["run"],
    ["why", "picture"],
    ["shared"],
  ],
  model: [
    ["film", "palette", "home", "terms", "picture"],
    ["run", "versions", "triage", "first_look", "inside", "timeline", "lesson"],
    ["volumes"],
    ["pods", "nodes", "machines", "why"],
    ["health", "acting"],
    ["shared"],
  ],
};

// What asks a server for something.
const ASKING = ["fetch", "WebSocket", "XMLHttpRequest", "EventSource", "WebTransport"];
const ONE_SOURCE = "Ask through static/js/lib/api.js, the only source of data of pages.";

// Layout is Prettier's; the rules here are about what the code means.
export default [
  {
    files: ["**/*.js"],
    ...js.configs.recommended,
    languageOptions: {ecmaVersion: 2023, sourceType: "module"},
    linterOptions: {reportUnusedDisableDirectives: "error"},
    rules: {
      ...js.configs.recommended.rules,
      "consistent-return": "error",
      "default-case-last": "error",
      eqeqeq: "error",
      "no-implicit-coercion": "error",
      "no-param-reassign": "error",
      "no-shadow": "error",
      "no-unused-private-class-members": "error",
      "no-useless-return": "error",
      "no-var": "error",
      "object-shorthand": "error",
      "prefer-const": "error",
      "prefer-template": "error",
      "max-params": ["error", 5],
    },
  },
  {
    files: ["static/js/**"],
    plugins: {words},
    rules: {"words/catalogue": "error", "words/whole": "error"},
  },
  {
    // Writes YAML.
    files: ["static/js/model/acting/schema.js"],
    rules: {"words/catalogue": "off", "words/whole": "off"},
  },
  {files: ["static/js/**"], languageOptions: {globals: globals.browser}},
  {
    // The model runs in the browser and in Node.js alike, so it may use neither's own names.
    files: ["static/js/model/**"],
    languageOptions: {globals: {...off(globals.browser), ...globals["shared-node-browser"]}},
  },
  {
    // One module is the pages' source of data, so that another source can take its place.
    files: ["static/js/**"],
    ignores: ["static/js/lib/api.js"],
    rules: {
      "no-restricted-globals": ["error", ...ASKING.map((name) => ({name, message: ONE_SOURCE}))],
      "no-restricted-properties": [
        "error",
        ...["window", "globalThis", "self"].flatMap((object) =>
          ASKING.map((property) => ({object, property, message: ONE_SOURCE})),
        ),
        {property: "sendBeacon", message: ONE_SOURCE},
      ],
    },
  },
  ...Object.entries(ROOMS).flatMap(([layer, levels]) =>
    levels.flatMap((level) => level.map((room) => oneWay(layer, room))),
  ),
  {
    files: Object.keys(ROOMS).map((layer) => `static/js/${layer}/**`),
    ignores: Object.entries(ROOMS).flatMap(([layer, levels]) =>
      levels.flat().map((room) => `static/js/${layer}/${room}/*.js`),
    ),
    rules: {
      "no-restricted-syntax": ["error", {selector: "Program", message: "Move this module into a room of ROOMS."}],
    },
  },
  {files: ["tests/js/**"], languageOptions: {globals: globals.node}},
  {
    files: ["static/css/**/*.css"],
    plugins: {css},
    language: "css/css",
    ...css.configs.recommended,
    rules: {
      ...css.configs.recommended.rules,
      // Custom properties of one file are defined in tokens.css, and the browsers we support are new.
      "css/no-invalid-properties": ["error", {allowUnknownVariables: true}],
      "css/use-baseline": "off",
      "css/no-important": "off",
    },
  },
];

/** The rule for one room: no import of a layer above its own, nor of a room beside or above it. */
function oneWay(layer, room) {
  const levels = ROOMS[layer];
  const own = levels.findIndex((level) => level.includes(room));
  const others = levels
    .slice(0, own + 1)
    .flat()
    .filter((each) => each !== room);
  const layersAbove = Object.keys(ROOMS).slice(0, Object.keys(ROOMS).indexOf(layer));
  const patterns = [
    [others, `^\\.\\./(${others.join("|")})/`],
    [layersAbove, `^\\.\\./\\.\\./(${layersAbove.join("|")})/`],
  ].filter(([names]) => names.length > 0);
  return {
    files: [`static/js/${layer}/${room}/**`],
    rules: {
      "no-restricted-imports": [
        "error",
        {patterns: patterns.map(([, regex]) => ({regex, message: "Imports go down: see ROOMS in eslint.config.js."}))},
      ],
    },
  };
}

function off(names) {
  return Object.fromEntries(Object.keys(names).map((name) => [name, "off"]));
}
