import {chainOf} from "../../../../static/js/model/volumes/chains.js";

/** All chains of a model: those of its claims, and of the volumes that none of them has. */
export function allChains({claims, entities}) {
  const ofClaims = [...claims.ids].map((id) => chainOf(id, claims, entities));
  const taken = new Set(ofClaims.map(({volumeId}) => volumeId));
  const left = [...claims.volumeIds].filter((id) => !taken.has(id));
  return [...ofClaims, ...left.map((id) => chainOf(id, claims, entities))];
}
