import {Component} from "preact";

/**
 * Draws its properties by `draw`, and again only when one of them is another one: a row of a list that stays the same
 * costs nothing.
 */
export class Unchanged extends Component {
  shouldComponentUpdate(next) {
    const {props} = this;
    return Object.keys(next).some((name) => next[name] !== props[name]);
  }

  render({draw, ...props}) {
    return draw(props);
  }
}
