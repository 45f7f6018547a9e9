/** PostFilter, Score and Select host. */
import {listText, ngettext} from "../../lib/words.js";
import {mapNodes, rested, withFar, withNodes} from "./nodes.js";
import {victimsOf} from "./failure_steps.js";

export const DECISION_PAINTERS = {
  postfilter: paintPostFilter,
  dryrun: paintDryRun,
  ladder: paintLadder,
  prescore: paintPreScore,
  score: paintScore,
  normalize: paintNormalize,
  sum: paintSum,
  host: paintHost,
};

/** Nodes that the search is done with show only their reasons. */
const QUIET = {order: null, marks: null, asks: false};

function paintPostFilter(picture, _, {answer: {post_filter: found}}) {
  const help = found.ordered?.nodes ?? [];
  const quiet = mapNodes(rested(picture), (_node, name) => ({...QUIET, look: help.includes(name) ? "" : "gone"}));
  return {...withFar(quiet, {help: help.length}), shows: "board"};
}

function paintDryRun(picture, {run}, {answer: {post_filter: found}}) {
  const {node, asked, refused} = found.dry_runs[run];
  const victims = asked.filter(({reprieved}) => !reprieved).map(({pod}) => pod);
  const isCandidate = refused.length === 0;
  const top = asked.find(({reprieved}) => !reprieved)?.priority;
  const words = ngettext("{count} victim, top priority {top}", "{count} victims, top priority {top}", victims.length, {
    top,
  });
  const why = isCandidate ? words : listText(refused);
  const shown = {look: "lit", why, full: why, fits: isCandidate, victims: isCandidate ? victims : []};
  const before = mapNodes(picture, ({look, fits}) => (look === "lit" ? {look: fits ? "cand" : "gone"} : {}));
  const tried = withFar(withNodes(before, {[node]: shown}), {tried: run + 1});
  return {...tried, ladder: {seen: run + 1, rungs: 0}};
}

function paintLadder(picture, {rung}, {answer: {post_filter: found}}) {
  const {candidates, rungs, node} = found.outcome;
  const {left} = rungs[rung];
  const isLast = rung === rungs.length - 1;
  const painted = mapNodes(picture, ({victims}, name) => {
    if (!candidates.some((each) => each.node === name)) return {look: "gone"};
    if (!left.includes(name)) return {look: "gone", victims: []};
    return {look: isLast && name === node ? "promised" : "cand", victims};
  });
  const shown = withFar(painted, {left: left.length});
  return {
    ...shown,
    ladder: {seen: found.dry_runs.length, rungs: rung + 1},
    victims: isLast ? victimsOf(found) : [],
  };
}

function paintPreScore(picture, _, {answer: {score}}) {
  const quiet = mapNodes(rested(picture), ({fits}) => ({...QUIET, look: fits ? "fits" : "gone"}));
  return {...withFar(quiet, {scored: score.nodes.length}), shows: "score"};
}

function paintScore(picture, {plugin}, {answer: {score}}) {
  const {plugin: name, highest} = score.plugins[plugin];
  return eachScored(picture, score, ({scores}) => ({
    raw: {label: name, value: scores[plugin].raw, most: Math.max(100, highest), before: null},
  }));
}

/** The last plugin that normalises is shown; a raw score that is final stays. */
function paintNormalize(picture, _, {answer: {score}}) {
  const place = score.plugins.findIndex(({normalizes}) => normalizes);
  return eachScored(picture, score, ({scores}) => ({
    raw: {
      label: score.plugins[place].plugin,
      value: scores[place].normalized,
      most: 100,
      before: scores[place].raw,
    },
  }));
}

function paintSum(picture, {plugin}, {answer: {score}}) {
  const most = Math.max(1, ...score.nodes.map(({total}) => total));
  const painted = eachScored(picture, score, ({scores}) => {
    const parts = scores.slice(0, plugin + 1).map(({weighted}) => weighted);
    return {raw: null, sum: {parts, total: parts.reduce((sum, each) => sum + each, 0), most}};
  });
  return {...painted, shows: "sum"};
}

function eachScored(picture, {nodes}, change) {
  return withNodes(picture, Object.fromEntries(nodes.map((scored) => [scored.node, change(scored)])));
}

function paintHost(picture, {isDrawn}, {answer: {host}}) {
  const quiet = mapNodes(rested(picture), ({fits}) => ({...QUIET, look: fits ? "fits" : "gone"}));
  const isAlone = host.tied.length < 2;
  if (!isDrawn && !isAlone) return withFar(withNodes(quiet, lookOf(host.tied, "tied")), {tied: host.tied.length});
  const won = withNodes(quiet, lookOf([host.node], "won"));
  return withFar(won, {tied: Math.max(1, host.tied.length), chosen: host.node});
}

function lookOf(names, look) {
  return Object.fromEntries(names.map((name) => [name, {look}]));
}
