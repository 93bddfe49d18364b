import type { Plans } from "../home/plans.ts";

/** Shows each change of the steps of a plan's last run as a line. Without a followed plan, shows the newest run. */
export class Follower {
  readonly #plans: Plans;
  readonly #show: (text: string) => void;
  readonly #since: string;
  readonly #taken = new Set<string>();
  #id: string | null = null;
  #shown = new Map<string, string>();

  constructor(plans: Plans, show: (text: string) => void, now = Date.now()) {
    this.#plans = plans;
    this.#since = new Date(now).toISOString();
    this.#show = show;
  }

  /** Follows a plan. Null ends the display. @throws ExecutorError */
  async follow(id: string | null): Promise<void> {
    this.#id = id === null ? null : this.#plans.get(id).id;
    this.#shown = new Map();
    await this.look();
  }

  /** Shows the changes. Ends with the run. */
  async look(): Promise<void> {
    const id = (this.#id ??= this.#newest());
    if (id === null) return;
    const { metadata, name, runs } = await this.#plans.show(id);
    const [run] = runs;
    if (this.#id !== id) return;
    if (!run) {
      this.#id = null;
      return this.#show(`${name} has not run yet.`);
    }
    if (!this.#taken.has(run.id)) this.#shown = new Map();
    this.#taken.add(run.id);
    for (const { error, status, step_id } of run.steps) {
      const text = `${step_id}: ${status}${error ? `: ${error}` : ""}`;
      if (this.#shown.get(step_id) === text || status === "pending") continue;
      this.#shown.set(step_id, text);
      this.#show(text);
    }
    if (run.status === "running") return;
    this.#id = null;
    // The end of the terminal's own run arrives as a notice.
    if (metadata?.owner?.channel === "tui") return;
    this.#show(`${name}: ${run.status}${run.error ? `: ${run.error}` : ""}`);
  }

  #newest(): string | null {
    const runs = this.#plans.runs({ since: this.#since });
    const begun = runs.find(
      ({ id, started_at }) => started_at >= this.#since && !this.#taken.has(id),
    );
    return begun?.workflow_id ?? null;
  }
}
