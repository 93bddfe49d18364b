import { expect, test } from "bun:test";
import { open, useConsole } from "./browser.ts";

const serving = useConsole("counter");
serving.options = { streams: { most: 1 } };

test("a page beyond the limit of streams reports the limit, and connects when another page is closed", async () => {
  const other = await serving.fetch("/api/events");
  expect(other.status).toBe(200);
  const page = await open(serving);
  await page.getByText(/Too many open pages; retrying in 5 s/).waitFor();
  await other.body?.cancel();
  await page.getByText(/Connected again/).waitFor();
  const id = await serving.run("counter");
  await page.locator(`a[href*="${id}"]`).first().waitFor();
}, 600_000);
