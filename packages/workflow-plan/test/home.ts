import { openLocalHost } from "@uncaged/workflow/host";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TestStore } from "../../workflow/test/fixtures/store.ts";
import type { PlannerOutput, PlanStep, Workflow } from "../src/entry/index.ts";
import { openPlans, type Plans, type PlansOptions } from "../src/entry/service.ts";
import { plan, step } from "./parts.ts";

export const command = fileURLToPath(new URL("./agents/claude.mjs", import.meta.url));
let made = 0;

/** Returns a step whose agent runs the action at the beginning of its description. */
export const does = (id: string, description: string, depends_on: string[] = []): PlanStep =>
  step(id, depends_on, { description });

/** Returns a whole plan that waits for its confirmation. Its steps have no sandbox: sandbox.test.ts tests that. */
export function workflow(output: PlannerOutput, more: Partial<Workflow> = {}): Workflow {
  const at = new Date().toISOString();
  return {
    schema_version: "1.0",
    id: `wf_test${(made += 1)}`,
    ...output,
    phase: "awaiting_confirmation",
    ...{ created_at: at, updated_at: at },
    ...more,
    metadata: { sandbox: "off", ...more.metadata },
  };
}

/** Returns a plan with one step that says hello. */
export const hello = (more: Partial<PlannerOutput> = {}): PlannerOutput =>
  plan([does("hello", "say hello")], {}, more);

export const cron = { type: "cron", expression: "0 9 * * 1-5" } as const;
export const poll = {
  type: "poll",
  interval_seconds: 60,
  check_script: "date",
  diff_mode: "any_change",
} as const;

/** A plan home in a test's own storage root. */
export class TestHome {
  readonly store = new TestStore();
  readonly home = join(this.store.root, "plans");
  readonly host = openLocalHost({ path: this.store.root });
  readonly plans: Plans;

  constructor(more: Partial<PlansOptions> = {}) {
    this.plans = this.open(more);
  }

  /** Opens the plan home again, as another process does. */
  open(more: Partial<PlansOptions> = {}): Plans {
    const env = { ...this.store.env, PATH: process.env.PATH ?? "" };
    return openPlans({
      ...{ host: this.host, home: this.home, env, cwd: this.store.folder },
      runOptions: { agentCommand: command },
      ...more,
    });
  }

  /** Waits until a plan has no open run, and returns the plan. */
  async ended(id: string) {
    for (const late = Date.now() + 30_000; ; await Bun.sleep(25)) {
      const view = await this.plans.show(id);
      if (view.runs.every(({ status }) => status !== "running")) return view;
      if (Date.now() > late)
        throw new Error(`${id} is ${view.phase}: ${JSON.stringify(view.runs)}`);
    }
  }
}
