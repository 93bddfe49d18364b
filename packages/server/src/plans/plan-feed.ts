import type { Workflow } from "@uncaged/workflow-plan";
import type { Plans } from "@uncaged/workflow-plan/service";
import { isWorkflowError } from "@uncaged/workflow/host";
import { setTimeout as sleep } from "node:timers/promises";
import type { PlanEvents } from "../schema/plan.ts";
import { Feed } from "../stream/feed.ts";
import { type Message, messageOf } from "../stream/streams.ts";
import { type PlanAccess, rowOf, wantedOf } from "./plan-rows.ts";

const lookEveryMs = 1_000;
/** Milliseconds of pause per millisecond of a poll, up to a limit, so that polls use at most a tenth of the time. */
const restOfEachMs = 9;
const longestRestMs = 5_000;

/**
 * The changes of a plan home by any process. While there are listeners, polls the database's change counter and the
 * active runs each second. The cursor is a hash of the whole state, so it stays valid across restarts: a client
 * with the current cursor gets no message, and any other client must read everything.
 */
export class PlanFeed extends Feed {
  readonly #open: () => Promise<PlanAccess>;
  #plans: Plans | null = null;
  #counter = "";
  #stored: ReadonlyMap<string, string> = new Map();
  /** The last sent stamp of each plan; null before the first poll. */
  #sent: Map<string, string> | null = null;
  #hash = 0n;

  constructor(open: () => Promise<PlanAccess>) {
    super();
    this.#open = open;
  }

  protected get cursor(): string {
    return this.#hash.toString(36);
  }

  protected reload(cursor: string): Message {
    return message("plans", {}, cursor);
  }

  protected async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      let tookMs = 0;
      try {
        const access = await this.#open();
        const startedAt = performance.now();
        await this.#look(access);
        tookMs = performance.now() - startedAt;
        if (!signal.aborted) this.ready();
      } catch {
        // The next poll may succeed.
      }
      const rest = Math.min(longestRestMs, Math.max(lookEveryMs, tookMs * restOfEachMs));
      await sleep(rest, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }

  async #look(access: PlanAccess): Promise<void> {
    const { plans } = access;
    const isFiring = access.isFiring();
    const { stamps, wanted } = await this.#read(plans, isFiring);
    if (this.#sent === null) {
      this.#sent = new Map();
      for (const [id, stamp] of stamps) this.#note(id, stamp);
      this.begin(this.cursor);
      return;
    }
    for (const [id, stamp] of stamps) {
      if (this.#sent.get(id) === stamp) continue;
      const plan = readable(plans, id);
      this.#note(id, stamp);
      if (plan === null) continue;
      const row = rowOf(plans, plan, { isFiring, wanted: wanted.get(id) });
      this.push(message("plan", row, this.cursor));
    }
    for (const id of this.#sent.keys()) {
      if (stamps.has(id)) continue;
      this.#note(id, null);
      this.push(message("plan_removed", { id }, this.cursor));
    }
  }

  /** Reads the stamps of all plans. The next poll finds concurrent writes. */
  async #read(plans: Plans, isFiring: boolean | null) {
    if (plans.runs().length > 0) await plans.refresh(() => undefined);
    const counter = plans.changeCounter();
    if (plans !== this.#plans || counter !== this.#counter) {
      this.#stored = plans.stamps();
      this.#plans = plans;
      this.#counter = counter;
    }
    const wanted = await wantedOf(plans);
    const stamps = new Map(this.#stored);
    if (isFiring === false) for (const [id, stamp] of stamps) stamps.set(id, `${stamp} idle`);
    for (const [id, some] of wanted) {
      const tokens = some.map(({ token }) => token).join(" ");
      if (stamps.has(id)) stamps.set(id, `${stamps.get(id)} ${tokens}`);
    }
    return { stamps, wanted };
  }

  /** Records the stamp sent for a plan; null for a deleted plan. */
  #note(id: string, stamp: string | null): void {
    const before = this.#sent?.get(id);
    if (before !== undefined) this.#hash ^= hashOf(id, before);
    if (stamp === null) this.#sent?.delete(id);
    else this.#sent?.set(id, stamp);
    if (stamp !== null) this.#hash ^= hashOf(id, stamp);
  }
}

/** Returns a plan; null for a removed or damaged plan, so that the other plans can still be shown. */
function readable(plans: Plans, id: string): Workflow | null {
  try {
    return plans.get(id);
  } catch (error) {
    if (isWorkflowError(error)) return null;
    throw error;
  }
}

const hashOf = (id: string, stamp: string): bigint => Bun.hash(`${id} ${stamp}`);

const message = <Name extends keyof PlanEvents>(
  name: Name,
  data: PlanEvents[Name],
  id: string,
): Message => messageOf(name, data, id);
