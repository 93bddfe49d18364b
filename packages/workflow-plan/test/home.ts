import { openLocalHost } from "@uncaged/workflow/host";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TestStore } from "../../workflow/test/fixtures/store.ts";
import type { PlannerOutput, PlanStep, Workflow } from "../src/entry/index.ts";
import { openPlans, type Plans, type PlansOptions } from "../src/entry/service.ts";
import { plan, step } from "./parts.ts";

export const command = fileURLToPath(new URL("./agents/claude.mjs", import.meta.url));
let made = 0;

/** A step whose agent does the action that its description begins with. */
export const does = (id: string, description: string, depends_on: string[] = []): PlanStep =>
  step(id, depends_on, { description });

/** A whole plan that waits for its confirmation. Its steps have no sandbox: sandbox.test.ts tests that. */
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

/** A plan with one step that says hello. */
export const hello = (more: Partial<PlannerOutput> = {}): PlannerOutput =>
  plan([does("hello", "say hello")], {}, more);

export const cron = { type: "cron", expression: "0 9 * * 1-5" } as const;
export const poll = {
  type: "poll",
  interval_seconds: 60,
  check_script: "date",
  diff_mode: "any_change",
} as const;

/** A plan home in a storage root of a test's own. */
export class TestHome {
  readonly store = new TestStore();
  readonly home = join(this.store.root, "plans");
  readonly host = openLocalHost({ path: this.store.root });
  readonly plans: Plans;

  constructor(more: Partial<PlansOptions> = {}) {
    this.plans = this.open(more);
  }

  /** Opens it again, as another process does. */
  open(more: Partial<PlansOptions> = {}): Plans {
    const env = { ...this.store.env, PATH: process.env.PATH ?? "" };
    return openPlans({
      ...{ host: this.host, home: this.home, env, cwd: this.store.folder },
      runOptions: { agentCommand: command },
      ...more,
    });
  }

  /** Waits until no run of a plan goes on, and returns the plan. */
  async ended(id: string) {
    for (const late = Date.now() + 30_000; ; await Bun.sleep(25)) {
      const view = await this.plans.show(id);
      if (view.runs.every(({ status }) => status !== "running")) return view;
      if (Date.now() > late)
        throw new Error(`${id} is ${view.phase}: ${JSON.stringify(view.runs)}`);
    }
  }
}
