import {byName, parseId} from "../shared/format.js";

/**
 * The resource claims of a pod as rows {id, requests, devices, users}; `devices` are those that the claim has got.
 * A claim that is not there has no `requests`.
 */
export function resourceClaimsOf(entities, podId, pod) {
  const {namespace} = parseId(podId);
  return (pod.resource_claims ?? []).map((name) => {
    const id = `resourceclaim/${namespace}/${name}`;
    const claim = entities.get(id);
    return {
      id,
      name,
      requests: claim ? (claim.requests ?? []) : null,
      devices: claim?.devices ?? [],
      users: claim?.users ?? [],
    };
  });
}

const LOOKS = {
  class: ["no", "stuck"],
  selector: ["no", "stuck"],
  taint: ["no", "stuck"],
  capacity: ["no", "stuck"],
  allocated: ["in-flight", "clock"],
  none: ["ok", "settled"],
};

/**
 * What kept a pod from each device, by its newest attempt: rows {node, slice, device, request, mark, family, text}, by
 * node, request and device.
 */
export function deviceVerdicts(evidence) {
  const rows = Object.entries(evidence?.verdicts ?? {}).flatMap(([node, {detail}]) =>
    (detail?.devices ?? []).map(({slice, device, request, kind, text}) => {
      const [mark, family] = LOOKS[kind] ?? LOOKS.class;
      return {node, slice: `resourceslice/${slice}`, device, request, mark, family, text};
    }),
  );
  return rows.sort((a, b) => byName(a.node, b.node) || byName(a.request, b.request) || byName(a.device, b.device));
}
