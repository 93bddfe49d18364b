import { expect, test } from "bun:test";
import { useConsole } from "./browser.ts";
import { chain, nodeOf, openEditor } from "./editor.ts";

const serving = useConsole();

/** A chain from the one corner of a drawing that no window holds to the other one. */
function diagonal() {
  const names = ["First", ...Array.from({ length: 20 }, (_, at) => `Agent ${at + 2}`), "Last"];
  const { nodes, connections } = chain(...names);
  return { nodes: nodes.map((node, at) => ({ ...node, x: at * 500, y: at * 340 })), connections };
}

test("pressing in the overview goes there, and so does moving in it", async () => {
  const page = await openEditor(serving, diagonal());
  const [first, last] = [nodeOf(page, "First"), nodeOf(page, "Last")];
  await page.getByRole("button", { name: "Show all" }).first().click();
  await first.waitFor();
  // What is out of view is no element.
  expect(await last.count()).toBe(0);
  const overview = page.getByRole("img", { name: "Overview of the drawing" });
  await overview.click({ position: { x: 170, y: 114 } });
  await last.waitFor();
  await first.waitFor({ state: "detached" });
  await overview.dragTo(overview, {
    sourcePosition: { x: 150, y: 100 },
    targetPosition: { x: 12, y: 10 },
  });
  await first.waitFor();
  await last.waitFor({ state: "detached" });
}, 600_000);
