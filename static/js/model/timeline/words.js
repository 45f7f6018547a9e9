/** Room for the words of arrows: a word that would lie over another, or be cut, is left out. */

const GAP = 2;
const HEIGHT = 12;

/**
 * The places of words {word, x, y, wide, isLeft}, of which the first ones count most: {word, left, y} for each that has
 * room within `width`, beside its point at x on the side that it wants, else on the other. In pixels.
 */
export function placeWords(words, width) {
  const taken = [];
  return words.flatMap(({word, x, y, wide, isLeft}) => {
    const sides = [x + 5, x - wide - 6];
    const left = (isLeft ? sides.reverse() : sides).find(
      (each) => each >= 0 && each + wide <= width && !taken.some((other) => meet(other, {left: each, y, wide})),
    );
    if (left === undefined) return [];
    taken.push({left, y, wide});
    return [{word, left, y, wide}];
  });
}

function meet(one, other) {
  const isApart = one.left + one.wide + GAP <= other.left || other.left + other.wide + GAP <= one.left;
  return !isApart && Math.abs(one.y - other.y) < HEIGHT;
}
