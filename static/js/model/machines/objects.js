import {gettext} from "../../lib/words.js";

/** The id of the entity that an object is, or is part of: "node/n1#kubernetes.io/csi/…" is part of a node. */
export function entityOf(id) {
  return id.split("#", 1)[0];
}

/** The objects that a machine follows in an entity, as [id, object]: itself, or its parts. */
export function objectsOf(machine, id, entity) {
  if (!entity || !id.startsWith(`${machine.within ?? machine.follows}/`)) return [];
  if (!machine.within) return [[id, entity]];
  const names = Object.keys({...entity.volumes, ...entity.attachments});
  return names.map((unique) => [`${id}#${unique}`, attachmentOf(entity, unique)]);
}

/** One object by its id, or null if it does not exist. */
export function objectOf(machine, id, entity) {
  if (!machine.within || !entity) return entity ?? null;
  return attachmentOf(entity, id.slice(entityOf(id).length + 1));
}

/** A volume on a node as the kubelet and the attach/detach controller see it. */
function attachmentOf(node, unique) {
  const [kubelet, controller] = [node.volumes?.[unique], node.attachments?.[unique]];
  return kubelet || controller ? {kubelet, controller} : null;
}

/** The name of an object: "shop/web-3"; "disk-1 on n1" for a volume on a node. */
export function nameOf(id, object) {
  const key = entityOf(id).slice(id.indexOf("/") + 1);
  if (!id.includes("#")) return key;
  const unique = id.slice(id.indexOf("#") + 1);
  return gettext("{name} on {key}", {
    name: object?.kubelet?.name ?? object?.controller?.name ?? unique.split("^").at(-1),
    key,
  });
}
