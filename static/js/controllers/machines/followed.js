import {batch, signal} from "@preact/signals";

import {entityOf} from "../../model/machines/objects.js";
import {placeOf} from "../../model/nodes/nodes.js";
import {isAskable} from "../../model/why/answer.js";
import {operationsOf} from "../nodes/node_record.js";
import {ObjectEvents} from "../session/object_events.js";

/**
 * The objects that the page of state machines follows, one of each kind, and their events: a pod,
 * a claim, a volume, and a volume on a node.
 *
 * The user can pick each. By default the pod is the one that the session selects, the claim is one of
 * the pod's or else an unfinished one, and the volume is the claim's, on the pod's node.
 */
export class Followed {
  constructor(session) {
    this.session = session;
    this.attachment = signal(null);
    const pod = new ObjectEvents(session, () => session.selected());
    const claim = new ObjectEvents(session, () => session.selection.claim.value ?? this.#claimOf(pod.id.value));
    const volume = new ObjectEvents(session, () => session.selection.volume.value ?? this.#volumeOf(claim.id.value));
    const attachment = new ObjectEvents(
      session,
      () => this.attachment.value ?? this.#attachmentOf(pod.id.value, volume.id.value),
      {
        queryOf: (id) => operationsOf(entityOf(id)),
        entityOf,
      },
    );
    /** By kind. */
    this.objects = {pod, claim, volume, attachment};
    /** The kind of the object that the section "Why" is about. */
    this.askedKind = signal("pod");
  }

  /** The followed objects that can be asked about, as {kind, id}: the pod, the claim, the volume and the node. */
  askable() {
    const {pod, claim, volume, attachment} = this.objects;
    const node = attachment.id.value && entityOf(attachment.id.value);
    const found = [pod.id.value, claim.id.value, volume.id.value, node];
    const {entities} = this.session.model;
    return found.filter((id) => isAskable(id, entities)).map((id) => ({kind: id.split("/", 1)[0], id}));
  }

  /** The id of the object that the section "Why" is about, or null. */
  asked() {
    const objects = this.askable();
    return (objects.find(({kind}) => kind === this.askedKind.value) ?? objects[0])?.id ?? null;
  }

  /** Show the section "Why" for the followed object of this kind. */
  ask(kind) {
    this.askedKind.value = kind;
  }

  start() {
    for (const object of Object.values(this.objects)) object.start();
  }

  /** Follow this object, and the objects of the other kinds that belong to it. */
  pick(id) {
    if (id.includes("#")) {
      this.attachment.value = id;
      return;
    }
    const [kind] = id.split("/", 1);
    const picked = {volume: kind === "volume" ? id : null};
    if (kind !== "volume") picked.claim = kind === "claim" ? id : null;
    if (kind === "pod") picked.pod = id;
    batch(() => {
      this.session.select(picked);
      this.attachment.value = null;
    });
  }

  #claimOf(pod) {
    const {entities, claims} = this.session.model;
    const name = entities.get(pod)?.claims?.[0];
    const mine = name && `claim/${pod.split("/")[1]}/${name}`;
    if (mine && entities.has(mine)) return mine;
    return claims.first(this.session.model, 1)[0] ?? null;
  }

  #volumeOf(claim) {
    const {entities, claims} = this.session.model;
    const name = claim && (entities.get(claim)?.volume ?? claims.holder(claim, entities.get(claim)));
    return name ? `volume/${name}` : null;
  }

  /** The volume on the pod's node, else another volume of the pod there. */
  #attachmentOf(pod, volume) {
    const {entities} = this.session.model;
    const place = entities.get(pod) && placeOf(entities.get(pod));
    const node = place && entities.get(`node/${place}`);
    if (!node) return null;
    const names = Object.keys({...node.attachments, ...node.volumes});
    const [key, name] = [pod.slice("pod/".length), volume?.slice("volume/".length)];
    const held = (unique) => node.volumes?.[unique] ?? node.attachments[unique];
    const found =
      names.find((unique) => held(unique).name === name) ??
      names.find((unique) => held(unique).desired?.[key] !== undefined);
    return found ? `node/${place}#${found}` : null;
  }
}
