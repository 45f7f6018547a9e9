/** The elements, attributes and texts of a template that is tagged `html`, as htm reads it. */

const NAME = /^[\w.:@-]+/;
const VOID = new Set(["br", "col", "hr", "img", "input", "use"]);

/**
 * The tree of a TaggedTemplateExpression: elements {name, attributes, kids}, texts {text, at} and expressions {node}.
 * An attribute is {name, text, node, at}, `at` the part of the template in which it begins.
 */
export function treeOf({quasi: {quasis, expressions}}) {
  const reader = new Reader();
  quasis.forEach((quasi, i) => {
    reader.readText(quasi);
    if (i < expressions.length) reader.readExpression(expressions[i]);
  });
  return reader.root;
}

class Reader {
  constructor() {
    this.root = {name: "", attributes: [], kids: []};
    this.open = [this.root];
    this.mode = "text";
  }

  readText(quasi) {
    this.quasi = quasi;
    let rest = quasi.value.raw;
    while (rest !== "") rest = rest.slice(this[this.mode](rest));
  }

  readExpression(node) {
    if (this.mode === "text") this.#add({node});
    else if (this.mode === "tag" && this.element.name === "") this.element.name = "component";
    else if (this.attribute && this.attribute.node === null) this.attribute.node = node;
    else this.element.attributes.push({name: "...", text: "", node, at: this.quasi});
  }

  /** Each of these reads the beginning of a text, and returns how much it has read. */
  text(rest) {
    const end = rest.indexOf("<");
    if (end !== 0) this.#add({text: end < 0 ? rest : rest.slice(0, end), at: this.quasi});
    if (end !== 0) return end < 0 ? rest.length : end;
    if (rest[1] === "/") {
      this.open.pop();
      return rest.indexOf(">") + 1;
    }
    const [whole, name] = /^<([\w-]*)/.exec(rest);
    this.element = {name, attributes: [], kids: []};
    this.attribute = null;
    this.mode = "tag";
    return whole.length;
  }

  tag(rest) {
    if (rest[0] === ">") return this.#begin(false);
    if (rest.startsWith("/>")) return this.#begin(true);
    const quoted = /^="([^"]*)"/.exec(rest);
    if (quoted) this.attribute.text = quoted[1];
    if (quoted) return quoted[0].length;
    const name = NAME.exec(rest)?.[0];
    if (name) {
      this.attribute = {name, text: "", node: null, at: this.quasi};
      this.element.attributes.push(this.attribute);
    }
    return name?.length ?? 1;
  }

  #begin(isClosed) {
    this.#add(this.element);
    if (!isClosed && !VOID.has(this.element.name)) this.open.push(this.element);
    this.mode = "text";
    return isClosed ? 2 : 1;
  }

  #add(kid) {
    this.open.at(-1).kids.push(kid);
  }
}
