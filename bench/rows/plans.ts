import { join } from "node:path";
import { openLocalHost } from "../../packages/workflow/src/host.ts";
import { openPlans } from "../../packages/workflow-plan/src/service.ts";
import { inTurn, timed } from "../measure.ts";
import { line, type Row } from "../row.ts";

const count = 10_000;
const times = 15;
const mostAbove = 50;

/** A list of 10,000 plans, beside the bare query for their rows. */
export const plansRow: Row = {
  name: "plans",
  async measure(folder) {
    const host = openLocalHost({ path: join(folder, "root") });
    const plans = openPlans({ host, home: join(folder, "plans"), env: {}, cwd: folder });
    plans.database.atOnce(() => {
      for (let n = 0; n < count; n += 1) plans.create(planWithId(`wf_${n}`));
    });
    const query = "SELECT * FROM workflows ORDER BY created_at DESC, id DESC";
    const bare = () => timed(() => plans.database.rows(query));
    const above = async () => (await timed(() => plans.list())) - (await bare());
    const samples = await inTurn(times, bare, above);
    plans.close();
    const what = "a list of 10,000 plans, above the query";
    return [
      line({ what, unit: "ms", against: "the bare query", target: { most: mostAbove } }, samples),
    ];
  },
};

const at = "2026-01-01T00:00:00.000Z";

const planWithId = (id: string): Parameters<ReturnType<typeof openPlans>["create"]>[0] => ({
  ...{ schema_version: "1.0", id, phase: "awaiting_confirmation", created_at: at, updated_at: at },
  name: "Failing builds",
  description: "Which of my repositories have failing builds?",
  trigger: { type: "cron", expression: "0 9 * * 1-5", timezone: "Europe/Berlin" },
  steps: ["list", "build", "report"].map((step, n, all) => ({
    ...{ id: step, description: `Do ${step}.`, agent: "claude", inputs: {} },
    depends_on: all.slice(Math.max(0, n - 1), n),
  })),
  failure_policy: { on_step_failure: "stop", max_retries: 1, retry_delay_ms: 5000 },
  metadata: { owner: { channel: "tui" }, cwd: "/home/me/projects" },
});
