import {Component} from "preact";

/**
 * Draws its properties by `draw`, and again only when one of them is another one: a row of a list that stays the same
 * costs nothing. Two objects whose values are the same are the same.
 */
export class Unchanged extends Component {
  shouldComponentUpdate(next) {
    const {props} = this;
    return Object.keys(next).some((name) => next[name] !== props[name] && !isAlike(next[name], props[name]));
  }

  render({draw, ...props}) {
    return draw(props);
  }
}

function isAlike(one, other) {
  if (!isPlain(one) || !isPlain(other)) return false;
  const names = Object.keys(one);
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name]);
}

const isPlain = (value) =>
  value !== null && typeof value === "object" && Object.getPrototypeOf(value) === Object.prototype;
