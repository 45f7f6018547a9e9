import {Component} from "preact";

/** Draws its children again only when `of` is another object, not with every frame. */
export class Still extends Component {
  shouldComponentUpdate({of}) {
    return of !== this.props.of;
  }

  render({children}) {
    return children;
  }
}
