import { join } from "node:path";
import { openLocalHost } from "../../packages/workflow/src/entry/host.ts";
import { openPlans, type Plans, tick } from "../../packages/workflow-plan/src/entry/service.ts";
import { inTurn, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";

const count = 10_000;

/**
 * One pass of the service over 10,000 active plans, half with a cron trigger and half with a poll; no plan is due. The
 * floor is a pass over no plan.
 */
export const plans: Row = {
  name: "plans",
  async measure({ folder }) {
    const full = homeIn(join(folder, "full"));
    fill(full.plans);
    const empty = homeIn(join(folder, "empty"));
    const samples = await inTurn(
      15,
      () => timed(() => pass(empty)),
      () => timed(() => pass(full)),
    );
    for (const each of [full, empty]) each.plans.close();
    const texts = { what: "a pass over 10,000 plans, nothing due", unit: "ms" };
    return [line({ ...texts, floorIs: "a pass over none", target: { most: 20 } }, samples)];
  },
};

type Home = { root: string; plans: Plans };

function homeIn(root: string): Home {
  const host = openLocalHost({ path: root });
  return { root, plans: openPlans({ host, home: join(root, "plans"), env: {}, cwd: root }) };
}

async function pass(home: Home): Promise<void> {
  const host = openLocalHost({ path: home.root });
  const { fired } = await tick(home.plans, { host, env: {}, commandOf: notDue });
  if (fired.length > 0) notDue();
}

const notDue = (): never => {
  throw new Error("a plan was due");
};

/** Creates active plans that are due several hours later. */
function fill(empty: Plans): void {
  const { database } = empty;
  const poll = {
    type: "poll",
    interval_seconds: 86_400,
    check_script: "ls",
    diff_mode: "new_items",
  };
  const cron = { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" };
  const now = new Date().toISOString();
  const next = new Date(Date.now() + 12 * 3_600_000).toISOString();
  database.atOnce(() => {
    for (let n = 0; n < count; n += 1) {
      const isCron = n % 2 === 0;
      void empty.create(planWithId(`wf_${n}`, (isCron ? cron : poll) as Plan["trigger"]));
      database.run(
        "INSERT INTO trigger_state (workflow_id, last_check_at, last_result) VALUES (?, ?, ?)",
        ...[`wf_${n}`, now, isCron ? next : "one\n"],
      );
    }
    database.run("UPDATE workflows SET phase = 'active'");
  });
}

type Plan = Parameters<Plans["create"]>[0];
const at = "2026-01-01T00:00:00.000Z";

const planWithId = (id: string, trigger: Plan["trigger"]): Plan => ({
  ...{ schema_version: "1.0", id, phase: "awaiting_confirmation", created_at: at, updated_at: at },
  name: "Failing builds",
  description: "Which of my repositories have failing builds?",
  trigger,
  steps: ["list", "build", "report"].map((step, n, all) => ({
    ...{ id: step, description: `Do ${step}.`, agent: "claude", inputs: {} },
    depends_on: all.slice(Math.max(0, n - 1), n),
  })),
  failure_policy: { on_step_failure: "stop", max_retries: 1, retry_delay_ms: 5000 },
  metadata: { owner: { channel: "tui" }, cwd: "/home/me/projects" },
});
