"""Which files of node_modules are served, and under which names.

Needs only the standard library, because the wheel is built with it.
"""

# Import name in our modules → file in node_modules.
PAGE_MODULES = {
    "preact": "preact/dist/preact.mjs",
    "preact/hooks": "preact/hooks/dist/hooks.mjs",
    "htm": "htm/dist/htm.mjs",
    "@preact/signals-core": "@preact/signals-core/dist/signals-core.mjs",
    "@preact/signals": "@preact/signals/dist/signals.mjs",
}
# The editor of manifests, and what it is made of (ADR 0037). Only pages with an editor load it.
EDITOR_MODULES = {
    "codemirror": "codemirror/dist/index.js",
    "@codemirror/autocomplete": "@codemirror/autocomplete/dist/index.js",
    "@codemirror/commands": "@codemirror/commands/dist/index.js",
    "@codemirror/lang-yaml": "@codemirror/lang-yaml/dist/index.js",
    "@codemirror/language": "@codemirror/language/dist/index.js",
    "@codemirror/lint": "@codemirror/lint/dist/index.js",
    "@codemirror/search": "@codemirror/search/dist/index.js",
    "@codemirror/state": "@codemirror/state/dist/index.js",
    "@codemirror/streamparser": "@codemirror/streamparser/dist/index.js",
    "@codemirror/view": "@codemirror/view/dist/index.js",
    "@lezer/common": "@lezer/common/dist/index.js",
    "@lezer/highlight": "@lezer/highlight/dist/index.js",
    "@lezer/lr": "@lezer/lr/dist/index.js",
    "@lezer/yaml": "@lezer/yaml/dist/index.js",
    "@marijn/find-cluster-break": "@marijn/find-cluster-break/src/index.js",
    "crelt": "crelt/index.js",
    "style-mod": "style-mod/src/style-mod.js",
    "w3c-keyname": "w3c-keyname/index.js",
}
MODULES = PAGE_MODULES | EDITOR_MODULES

# The Latin letters, figures and signs of each face, in all its weights (ADR 0036).
TYPEFACES = (
    "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
    "@fontsource-variable/jetbrains-mono/files/jetbrains-mono-latin-wght-normal.woff2",
)

SERVED = (*MODULES.values(), *TYPEFACES)
