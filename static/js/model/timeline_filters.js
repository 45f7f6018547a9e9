/** What the timeline is filtered by, as it stands in the address, and as the events resource takes it. */
import {parseSeconds} from "./timeline.js";

export const FILTERS = ["kind", "object", "component", "from", "to", "order"];

/** The components that the field offers; any other text may be typed. */
export const COMPONENTS = [
  "scheduler",
  "pv-controller",
  "kubelet",
  "attach-detach",
  "csi-attacher",
  "external-provisioner",
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "daemonset-controller",
  "job-controller",
  "resourcequota-controller",
  "node-controller",
  "disruption-controller",
  "scenario",
  "command",
  "fault",
];
export const NO_FILTERS = {kind: "", object: "", component: "", from: "", to: "", order: "desc"};

const TIMES = {from: "From", to: "To"};

/** The filters that an address names, as text; "" where it names none. */
export function filtersIn(search) {
  const query = new URLSearchParams(search);
  const filters = Object.fromEntries(FILTERS.map((name) => [name, (query.get(name) ?? "").trim()]));
  return {...filters, order: filters.order === "asc" ? "asc" : "desc"};
}

/** The filters as they stand in an address: what is usual is left out. */
export function filterChanges(filters) {
  return {...filters, order: filters.order === "asc" ? "asc" : null};
}

/** {query, problem}: parameters of the events resource, or what is wrong with the filters, in words. */
export function filterQuery({order, ...filters}) {
  const query = {...filters};
  for (const [name, title] of Object.entries(TIMES)) {
    if (filters[name] === "") continue;
    query[name] = parseSeconds(filters[name]);
    if (query[name] === null)
      return {query: null, problem: `${title} is “${filters[name]}”; it must be a time in seconds, such as 12.5.`};
  }
  return {query, order, problem: ""};
}

/** Rows as they are shown: those up to event *seq* and, greyed, those that come *later*, in their order. */
export function shownRows({rows, later, next}, order, seq) {
  const upTo = rows.filter((row) => row.seq <= seq).map((event) => ({event, isLater: false}));
  const beyond = (later ?? []).filter((row) => row.seq > seq).map((event) => ({event, isLater: true}));
  if (order === "desc") return [...beyond.reverse(), ...upTo];
  // They come where the list ends, which may not be in sight yet.
  return next === null ? [...upTo, ...beyond] : upTo;
}
