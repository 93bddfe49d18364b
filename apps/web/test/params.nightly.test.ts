import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { open, useConsole } from "./browser.ts";

const workflow = join(import.meta.dir, "../../../examples/review-repository/workflow.ts");

const serving = useConsole();

beforeAll(async () => {
  const adding = serving.spawn("add", "review", workflow);
  expect(await adding.exited).toBe(0);
}, 600_000);

const idOf = (page: Page): string => new URL(page.url()).pathname.split("/").at(-1) ?? "";

test("a page of a project's console names the project, and its keys the storage root", async () => {
  const page = await open(serving);
  await page.getByRole("heading", { name: "Threads" }).waitFor();
  expect(await page.getByTitle(/^The project in/).count()).toBe(0);
  const { port } = serving;
  await serving.stop();
  serving.write("uncaged.json", "{}");
  const root = serving.more;
  serving.more = { ...root, UNCAGED_WORKFLOW_STORAGE_ROOT: "" };
  await serving.serve(port);
  const own = await open(serving);
  await own.getByTitle(`The project in ${serving.folder}`).waitFor();
  await own.keyboard.press("?");
  await own.getByRole("dialog").getByText(join(serving.folder, ".uncaged")).waitFor();
  await serving.stop();
  serving.more = root;
  await serving.serve(port);
}, 600_000);

test("params of a workflow that declares no input are given as JSON, and shown beside its thread", async () => {
  const page = await open(serving, "/?start=review");
  const dialog = page.getByRole("dialog");
  const params = dialog.getByLabel("Params (optional)");
  await params.fill('{"files":');
  await dialog.getByRole("button", { name: "Start" }).click();
  await dialog.getByText(/It is no JSON/).waitFor();
  await params.fill('{"files":4}');
  await dialog.getByRole("button", { name: "Start" }).click();
  const about = page.getByRole("complementary", { name: "About the thread" });
  await about.getByRole("heading", { name: "Params" }).waitFor();
  expect(await about.getByRole("definition").first().textContent()).toBe("4");
  const thread = await serving.ok<{ params?: unknown }>(`/api/threads/${idOf(page)}`);
  expect(thread.params).toEqual({ files: 4 });
}, 600_000);
