/** Messages that are sent compressed. */

/** The value of a compressed JSON text. @param {ArrayBuffer} data */
export function unpacked(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).json();
}
