import { expect, test } from "bun:test";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import { openPlans } from "../../../packages/workflow-plan/src/entry/service.ts";
import { keepPicture, open, useConsoleProcess } from "./browser.ts";
import { violationsOf } from "./violations.ts";

const serving = useConsoleProcess();
serving.flags.push("--no-plans");
serving.more = {
  ...serving.more,
  UNCAGED_PLAN_AGENT_COMMAND: join(
    import.meta.dir,
    "../../../packages/cli-workflow/test/agents/agent.sh",
  ),
  UNCAGED_PLAN_SANDBOX_MODE: "off",
};

test("a confirmed plan whose trigger nothing lets fire says so in red, until a server does", async () => {
  const host = openLocalHost({ path: serving.path });
  const home = join(serving.path, "plans");
  const plans = openPlans({ host, home, env: {}, cwd: serving.folder });
  const at = "2026-01-01T00:00:00.000Z";
  await plans.create({
    ...{ schema_version: "1.0", id: "wf_nine", name: "At nine", description: "d" },
    trigger: { type: "cron", expression: "0 9 * * *" },
    steps: [{ id: "a", description: "do a", agent: "claude", inputs: {}, depends_on: [] }],
    failure_policy: { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 },
    ...{ phase: "awaiting_confirmation", created_at: at, updated_at: at },
  });
  plans.close();
  const page = await open(serving, "/plans/wf_nine");
  const sentence = page
    .getByRole("alert")
    .getByText("The trigger of this plan does not fire: no service is running.");
  const confirm = page.getByRole("button", { name: "Confirm", exact: true });
  await confirm.waitFor();
  expect(await sentence.count()).toBe(0);
  await confirm.click();
  await sentence.waitFor();
  expect(await violationsOf(page)).toEqual([]);
  await keepPicture(page, "plan-not-firing");
  const { port } = serving;
  await serving.stop();
  serving.flags.pop();
  await serving.serve(port);
  await sentence.waitFor({ state: "detached" });
  await page.getByText("Next fire", { exact: true }).waitFor();
}, 600_000);
