/** From Assume on, and the way back of a cycle that failed. */
import {mapNodes, withFar, withNodes} from "./nodes.js";

const CALM = {
  look: "",
  order: null,
  marks: null,
  why: "",
  full: "",
  fits: false,
  asks: false,
  raw: null,
  sum: null,
  victims: [],
};

export const BINDING_PAINTERS = {
  bindqueue: (picture, {event}, {answer}) =>
    event ? {...picture, writes: picture.writes + 1} : onNode(picture, answer.rounds[0].node, "promised"),
  assume: (picture, _, {answer}) => onNode(picture, answer.assume.assumed.node, "promised"),
  reserve: (picture, _, {answer}) => ({...picture, assumed: answer.volumes?.assumed.at(-1)?.bind ?? []}),
  permit: (picture) => picture,
  waitonpermit: (picture) => picture,
  prebind: (picture, {event}) => ({...picture, writes: picture.writes + (event ? 1 : 0)}),
  bind: paintBind,
  postbind: (picture) => picture,
  unreserve: (picture) => ({...picture, assumed: []}),
  forget: (picture) => onNode(picture, null, ""),
  evict: (picture, _, {answer}) => leaving(picture, answer),
  fail: (picture) => ({...picture, shows: "board"}),
  nominate: (picture, _, {answer}) => withFar(leaving(picture, answer), {nominated: answer.post_filter.outcome.node}),
  wait: (picture) => picture,
  again: (picture) => picture,
  leave: (picture) => picture,
};

/** The board is calm; only the node that the pod goes to stands out. */
function onNode(picture, name, look) {
  const calm = {...mapNodes(picture, () => CALM), shows: "board", ladder: null};
  return name === null ? calm : withNodes(calm, {[name]: {look}});
}

function paintBind(picture, _, {answer: {bind}}) {
  return onNode(picture, bind.node, bind.code === "Success" ? "settled" : "out");
}

function leaving(picture, {post_filter: {outcome}}) {
  const chosen = outcome.candidates.find(({node}) => node === outcome.node);
  const painted = onNode(picture, outcome.node, "promised");
  return withNodes(painted, {[outcome.node]: {victims: [...(chosen?.victims ?? [])]}});
}
