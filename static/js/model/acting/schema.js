/** What a manifest of one kind may hold: the OpenAPI definitions as the server gives them, {root, definitions}. */
import {gettext} from "../../lib/words.js";

/** How the sentences of Kubernetes introduce the values that a field may have. */
const VALUES =
  /(?:one of|valid (?:values|operators|effects|options|modes|types) are|possible values are|must be|can be(?: one of)?)\s*:?\s*([^.]*)/i;
const VALUE = /^[A-Z][A-Za-z0-9]*$/;
const DEEPEST_SKELETON = 6;

export class Schema {
  constructor({root, definitions}) {
    this.root = root;
    this.definitions = definitions;
  }

  /** The schema of the field at a path, with its reference resolved; null for a field that there is not. */
  at(path) {
    let found = this.#resolved({ref: this.root});
    for (const part of path) {
      const inner =
        typeof part === "number" ? found?.items : (found?.properties?.[part] ?? found?.additionalProperties);
      if (!inner) return null;
      found = this.#resolved(inner);
    }
    return found;
  }

  /** The fields of the mapping at a path, as [{name, type, text, isRequired}], required ones first. */
  fieldsAt(path) {
    const holder = this.at(path);
    const required = holder?.required ?? [];
    return Object.entries(holder?.properties ?? {})
      .map(([name, schema]) => {
        const isRequired = required.includes(name);
        return {name, type: this.typeOf(schema), text: this.#resolved(schema).description ?? "", isRequired};
      })
      .sort((a, b) => Number(b.isRequired) - Number(a.isRequired) || a.name.localeCompare(b.name));
  }

  /** The values that the field at a path may have; none where it may have any. */
  valuesAt(path) {
    const schema = this.at(path);
    if (!schema) return [];
    if (schema.enum) return schema.enum.map(String);
    if (schema.type === "boolean") return ["true", "false"];
    return schema.type === "string" ? valuesIn(schema.description ?? "") : [];
  }

  /** What is said of the field at a path, as {title, type, text}; null where nothing is. */
  wordsAt(path) {
    const schema = this.at(path);
    if (!schema) return null;
    return {title: String(path.at(-1)), type: this.typeOf(schema), text: schema.description ?? ""};
  }

  /** The type of a schema in a word: "string", "[]Container", "map of Quantity". */
  typeOf(schema) {
    if (schema.ref) return schema.ref.split(".").at(-1);
    if (schema.type === "array") return `[]${this.typeOf(schema.items ?? {})}`;
    if (schema.additionalProperties)
      return gettext("map of {typeOf}", {typeOf: this.typeOf(schema.additionalProperties)});
    return schema.type ?? "any";
  }

  /** Lines of YAML with the fields that a mapping at a path has to have, to be filled in. */
  requiredLines(/** @type {(string | number)[]} */ path = ["spec"], indent = 2) {
    if (path.length > DEEPEST_SKELETON) return [];
    const pad = " ".repeat(indent);
    return this.fieldsAt(path)
      .filter(({isRequired}) => isRequired)
      .flatMap(({name, type}) => {
        const inner = [...path, name];
        if (!type.startsWith("[]")) {
          const lines = this.requiredLines(inner, indent + 2);
          return lines.length > 0 ? [`${pad}${name}:`, ...lines] : [`${pad}${name}: `];
        }
        const items = this.requiredLines([...inner, 0], indent + 4);
        if (items.length === 0) return [`${pad}${name}: []`];
        const [first, ...others] = items;
        return [`${pad}${name}:`, `${pad}  - ${first.trimStart()}`, ...others];
      });
  }

  /** The schema behind a reference; what is said where it is referred to comes first. */
  #resolved(schema) {
    if (!schema.ref) return schema;
    const found = this.definitions[schema.ref] ?? {};
    return schema.description
      ? {...found, ref: schema.ref, description: schema.description}
      : {...found, ref: schema.ref};
  }
}

/** The values that a description lists: ["Always", "OnFailure"] of "One of Always, OnFailure."; often none. */
export function valuesIn(description) {
  const list = VALUES.exec(description)?.[1] ?? "";
  const words = list
    .split(/,|\band\b|\bor\b/)
    .map((word) => word.trim().replace(/^["'`]+|["'`]+$/g, ""))
    .filter((word) => word !== "");
  return words.length > 1 && words.every((word) => VALUE.test(word)) ? words : [];
}

/** The text with which a new object of a kind begins. `schema` may be null while it is not known. */
export function newText({api_version: version, kind, namespaced}, schema) {
  const head = [`apiVersion: ${version}`, `kind: ${kind}`, "metadata:", "  name: "];
  if (namespaced) head.push("  namespace: default");
  if (!schema?.at(["spec"])) return `${head.join("\n")}\n`;
  const lines = schema.requiredLines();
  return `${[...head, "spec:", ...(lines.length > 0 ? lines : ["  "])].join("\n")}\n`;
}
