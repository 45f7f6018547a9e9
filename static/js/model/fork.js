import {parseSeq} from "./timeline.js";

/** What is asked of the server: a fork where the address says one is looking, made as the form says. */
export function forkWish(search, {name, profile, seed}) {
  return {seq: parseSeq(new URLSearchParams(search).get("seq") ?? ""), name, profile, seed};
}

/** The same page of another run, at its newest event. */
export function addressInRun({pathname, search}, run) {
  const query = new URLSearchParams(search);
  query.delete("seq");
  query.delete("attempt");
  query.delete("with");
  const kept = query.toString().replaceAll("%2F", "/");
  return `${pathname.replace(/^\/runs\/\d+\//, `/runs/${run}/`)}${kept ? `?${kept}` : ""}`;
}
