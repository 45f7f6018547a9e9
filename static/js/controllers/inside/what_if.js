import {computed, signal} from "@preact/signals";

import {supposedAt} from "../../model/inside/what_if.js";

/**
 * What the cycle shown would have decided, had its pod asked for another amount: asked of the server once for a cycle, and then
 * looked at amount by amount.
 */
export class WhatIf {
  constructor(session) {
    this.session = session;
    /** @type {import("@preact/signals").Signal<{key: string, status: string, answer?: any, message?: string} | null>} */
    this.held = signal(null);
    /** The amount that is looked at, null for the recorded one. @type {import("@preact/signals").Signal<number | null>} */
    this.amount = signal(null);
    this.supposed = computed(() => {
      const answer = this.held.value?.answer;
      return answer ? supposedAt(answer, this.amount.value) : null;
    });
  }

  /** Ask about a cycle, unless that is asked already. */
  async ask({cycle, pod}) {
    const key = `${cycle} ${pod}`;
    const held = this.held.peek();
    if (held?.key === key && held.status !== "failed") return;
    this.amount.value = null;
    this.held.value = {key, status: "loading"};
    const take = (found) => {
      if (this.held.peek()?.key === key) this.held.value = {key, ...found};
    };
    try {
      take({status: "ready", answer: await this.session.api.get("inside/what-if/", {cycle, pod})});
    } catch (error) {
      take({status: "failed", message: error.message});
    }
  }

  /** Look at an amount; the recorded one is what happened. */
  look(amount) {
    this.amount.value = amount === this.held.peek()?.answer.asked ? null : amount;
  }
}
