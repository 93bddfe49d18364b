import { expect, test } from "bun:test";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import type { Page } from "playwright-core";
import type { Thread, VersionRow } from "../../../packages/server/src/entry/api-types.ts";
import { openPlans } from "../../../packages/workflow-plan/src/entry/service.ts";
import { open, useConsoleProcess } from "./browser.ts";
import { chain, editPlan, importText, nodeOf } from "./editor.ts";

/* A server that is killed before or during an action: typed text is kept, no action runs twice, failures are shown. */

const serving = useConsoleProcess("endless");
serving.more = {
  ...serving.more,
  UNCAGED_PLAN_AGENT_COMMAND: join(
    import.meta.dir,
    "../../../packages/cli-workflow/test/agents/agent.sh",
  ),
  UNCAGED_PLAN_SANDBOX_MODE: "off",
};

const failure = (page: Page) => page.getByText("The server can't be reached").first();
const press = (page: Page, name: string) =>
  page.getByRole("button", { name, exact: true }).last().click();

/** Kills the server. Returns a function that restarts it on its port, and waits until the page is connected. */
async function lose(page: Page): Promise<() => Promise<void>> {
  const { port } = serving;
  await serving.stop("SIGKILL");
  await page.getByText("The server is unreachable").waitFor();
  return async () => {
    const again = page.getByText("Connected again").waitFor();
    await serving.serve(port);
    await again;
  };
}

/** Passes the next request of a path to the server, and kills the server before the response arrives. */
async function loseDuring(page: Page, path: string, act: () => Promise<void>) {
  const restarts = Promise.withResolvers<() => Promise<void>>();
  await page.route(
    path,
    async (route) => {
      await route.fetch();
      restarts.resolve(await lose(page));
      await route.abort("connectionreset");
    },
    { times: 1 },
  );
  await act();
  return await restarts.promise;
}

const textOf = (...names: string[]) => `${JSON.stringify(chain(...names), null, 2)}\n`;

const versions = () => serving.ok<VersionRow[]>("/api/workflows/team/history");

test("a graph survives a server that is lost while it is saved, and is saved once", async () => {
  await serving.add("team", textOf("Writer"), "team.json");
  const page = await open(serving, "/editor/graph/team", { width: 1440, height: 900 });
  await nodeOf(page, "Writer").waitFor();
  await importText(page, "a.json", textOf("Writer", "Checker"));
  await nodeOf(page, "Checker").waitFor();
  await page.getByRole("button", { name: /^Save/ }).click();
  const first = await lose(page);
  await press(page, "Save");
  await failure(page).waitFor();
  await first();
  expect(await versions()).toHaveLength(1);

  const second = await loseDuring(page, "**/api/workflows/team?*", () => press(page, "Save"));
  await failure(page).waitFor();
  await second();
  await press(page, "Save");
  await page.getByText("Saved as a version of team").waitFor();
  expect(await versions()).toHaveLength(2);
  const { text } = await serving.ok<{ text: string }>("/api/bundles/team/document");
  expect(text).toBe(textOf("Writer", "Checker"));
}, 600_000);

test("a lost server fails a pause and a kill visibly, and the page then shows the state of the server", async () => {
  const id = await serving.run("endless", { delayMs: 100 });
  await serving.until(id, "running", 2);
  const page = await open(serving, `/threads/${id}`);
  await page.getByRole("button", { name: "Pause" }).waitFor();
  const first = await lose(page);
  await press(page, "Pause");
  await failure(page).waitFor();
  await first();
  expect((await serving.ok<Thread>(`/api/threads/${id}`)).status).toBe("running");
  const second = await loseDuring(page, "**/pause", () => press(page, "Pause"));
  await second();
  await serving.until(id, "paused");
  await page.getByRole("button", { name: "Resume" }).waitFor();

  await press(page, "Kill");
  const third = await lose(page);
  await press(page, "Kill");
  await failure(page).waitFor();
  await third();
  expect((await serving.ok<Thread>(`/api/threads/${id}`)).status).toBe("paused");
  const fourth = await loseDuring(page, "**/kill", () => press(page, "Kill"));
  await fourth();
  await serving.until(id, "killed");
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Retry" }).waitFor();
}, 600_000);

test("the actions of a plan fail visibly without a server, keep typed text, and run once", async () => {
  const id = "wf_lost";
  await create(id);
  const page = await open(serving, `/plans/${id}`);
  const state = (word: string) => page.getByRole("heading", { level: 1 }).getByText(word).waitFor();
  const runs = page.getByRole("region", { name: "Runs", exact: true });
  await page.getByRole("button", { name: "Confirm", exact: true }).waitFor();
  const first = await lose(page);
  await press(page, "Confirm");
  await failure(page).waitFor();
  await first();
  await press(page, "Confirm");
  await state("active");

  await press(page, "Run…");
  const data = page.getByLabel("Trigger data (optional)");
  await data.fill("three of them");
  const second = await lose(page);
  await press(page, "Run");
  await failure(page).waitFor();
  await second();
  expect(await data.inputValue()).toBe("three of them");
  const third = await loseDuring(page, "**/run", () => press(page, "Run"));
  await failure(page).waitFor();
  await third();
  await page.keyboard.press("Escape");
  await runs.getByText("three of them").waitFor();
  expect(await runs.getByRole("button", { name: /^Run of/ }).count()).toBe(1);

  await editPlan({ page, serving, id }, "look around", "look closely");
  const edited = page.locator(".react-flow__node").getByText("look closely");
  await edited.waitFor();
  const fourth = await lose(page);
  await press(page, "Save");
  await failure(page).waitFor();
  await fourth();
  await edited.waitFor();
  await press(page, "Save");
  await page.waitForURL(`**/plans/${id}`);
  await page.getByRole("figure").getByText("look closely").first().waitFor();

  const fifth = await loseDuring(page, "**/pause", () => press(page, "Pause"));
  await fifth();
  await state("paused");
}, 600_000);

async function create(id: string): Promise<void> {
  const host = openLocalHost({ path: serving.path });
  const home = join(serving.path, "plans");
  const plans = openPlans({ host, home, env: {}, cwd: serving.folder });
  const at = "2026-01-01T00:00:00.000Z";
  const step = { id: "look", description: "look around", agent: "claude" as const };
  await plans.create({
    ...{ schema_version: "1.0", id, name: "Lost", description: "d" },
    ...{ trigger: { type: "cron", expression: "0 9 * * *" } },
    steps: [{ ...step, inputs: {}, depends_on: [] }],
    failure_policy: { on_step_failure: "stop", max_retries: 0, retry_delay_ms: 0 },
    ...{ phase: "awaiting_confirmation", created_at: at, updated_at: at },
  });
  plans.close();
}
