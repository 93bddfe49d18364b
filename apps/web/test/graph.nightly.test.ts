import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { open, useConsole } from "./browser.ts";

/** Commits a step for each file that exists, in the order of its roles; a role runs until its file appears. */
const gated = `
import { existsSync } from "node:fs";
import { durable } from "@uncaged/workflow";
export const descriptor = { description: "a test", roles: {} };
export const run = durable(async function* (step, { params }) {
  for (const [at, role] of params.roles.entries()) {
    yield* step(role, async () => {
      while (!existsSync(params.folder + "/go-" + at)) await new Promise((done) => setTimeout(done, 10));
      return { content: role, meta: {} };
    });
  }
});
`;

const serving = useConsole();

beforeAll(async () => {
  await serving.add("gated", gated, "gated.ts");
}, 600_000);

const viewport = (page: Page): Promise<string | null> =>
  page.locator(".react-flow__viewport").getAttribute("style");

test("a live graph marks the running role, draws a loop, and keeps the user's view", async () => {
  const roles = ["plan", "code", "code", "test"];
  const params = { roles, folder: join(serving.folder, "gates") };
  const { threadId } = await serving.ok<{ threadId: string }>("/api/threads", {
    workflow: "gated",
    params,
  });
  const go = (at: number) => serving.write(`gates/go-${at}`, "");
  const page = await open(serving, `/threads/${threadId}?view=graph`);
  const node = (name: string, state: string) =>
    page.getByRole("button", { name: new RegExp(`^${name}.*${state}$`) });
  await node("plan", "running").waitFor();
  go(0);
  await node("plan", "done").waitFor();
  await node("code", "running").waitFor();
  const drawing = await page.locator(".react-flow").elementHandle();
  await page.getByRole("button", { name: "Zoom In" }).click();
  const zoomed = await viewport(page);
  go(1);
  await node("code", "running").waitFor();
  go(2);
  await node("test", "running").waitFor();
  expect(await viewport(page)).toBe(zoomed);
  expect(await drawing?.evaluate((element) => element.isConnected)).toBe(true);
  await page.waitForFunction(() => {
    const loop = document.querySelectorAll(".react-flow__edge-path")[1];
    const { width, height } = loop?.getBoundingClientRect() ?? { width: 0, height: 0 };
    return Math.min(width, height) > 10;
  });
  go(3);
  await node("test", "done").waitFor();
  await page.getByRole("button", { name: "Fit View" }).click();
  await page.waitForFunction(
    (before) => document.querySelector(".react-flow__viewport")?.getAttribute("style") !== before,
    zoomed,
  );
}, 600_000);
