import css from "@eslint/css";
import js from "@eslint/js";
import globals from "globals";

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
  {files: ["static/js/**"], languageOptions: {globals: globals.browser}},
  {
    // The model runs in the browser and in Node.js alike, so it may use neither's own names.
    files: ["static/js/model/**"],
    languageOptions: {globals: {...off(globals.browser), ...globals["shared-node-browser"]}},
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

function off(names) {
  return Object.fromEntries(Object.keys(names).map((name) => [name, "off"]));
}
