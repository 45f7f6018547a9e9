/** Nodes that somebody asks for beside their files, as the field of an upload has them: 10xm5.large:zone=a,b. */

/** `text` with so many nodes of a type more, in zones in turn. Numbers that make no sense add nothing. */
export function withNodes(text, {count, type, zones}) {
  if (!(Number.isInteger(count) && count > 0)) return text;
  const named = zones
    .split(",")
    .map((zone) => zone.trim())
    .filter((zone) => zone);
  const added = `${count}x${type}${named.length ? `:zone=${named.join(",")}` : ""}`;
  const before = text.trim().replace(/,+$/, "");
  return before ? `${before},${added}` : added;
}
