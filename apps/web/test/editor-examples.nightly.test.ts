import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Page } from "playwright-core";
import { documentedSteps } from "../../../packages/workflow-steps/test/documented-steps.ts";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";
import { keepPicture, open, useConsole } from "./browser.ts";
import { importText } from "./editor.ts";

const serving = useConsole();
const top = join(import.meta.dir, "../../..");
const read = (path: string) => readFileSync(join(top, path), "utf8");
const wide = { width: 1600, height: 900 };

type Example = [name: string, text: string];

const exampleOf = (path: string): Example => [basename(path, ".json"), read(path)];

const [, guide = ""] = /```json\n(\{[\s\S]*?)```/.exec(read("docs/graphs.md")) ?? [];

const graphs: Example[] = [
  ...["research-team/team.json", "review-pipeline/pipeline.json"].map((path) =>
    exampleOf(`examples/${path}`),
  ),
  ["guide", guide],
];

const steps: Example[] = [
  ...[...new Bun.Glob("examples/{steps,release-notes}/*.json").scanSync(top)].map(exampleOf),
  ...documentedSteps.map(({ what, document }): Example => {
    return [what.replaceAll(/\W+/g, "-"), `${JSON.stringify(document, null, 4)}\r\n`];
  }),
];

/** The draft as the browser keeps it. */
const keptText = (page: Page, kind: "graph" | "steps"): Promise<string | null> =>
  page.evaluate(
    (key) => {
      dispatchEvent(new Event("pagehide"));
      return localStorage.getItem(key);
    },
    kind === "graph" ? "agentflow-workflow" : "uncaged-steps-",
  );

/** The file that the editor writes. */
async function exported(page: Page): Promise<string> {
  await page.getByRole("button", { name: "File", exact: true }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("menuitem", { name: "Export" }).click(),
  ]);
  return readFileSync(await download.path(), "utf8");
}

test.each([
  ["graph", graphs, "nodes"],
  ["steps", steps, "steps"],
] as const)(
  "each example of the documents is imported into the editor of %s, drawn, and exported byte for byte",
  async (kind, examples, list) => {
    const page = await open(serving, `/editor/${kind}`, wide);
    await page.getByRole("button", { name: "File", exact: true }).waitFor();
    for (const [name, text] of examples) {
      const { [list]: all } = JSON.parse(text) as Record<string, { id: string }[]>;
      await importText(page, `${name}.json`, text);
      // The one before may have a node of the same id.
      await until(async () => (await keptText(page, kind)) === text);
      const [first] = all ?? [];
      await page.locator(`.react-flow__node[data-id="${first?.id}"]`).waitFor();
      await keepPicture(page, `${kind}-${name}`);
      await page.keyboard.press("Control+a");
      if (all && all.length > 1) await page.getByText(`${all.length} nodes selected`).waitFor();
      // Doubled and put back, it is as it was.
      await page.keyboard.press("Control+d");
      await page.getByRole("button", { name: "Undo", exact: true }).click();
      expect([name, await exported(page)]).toEqual([name, text]);
    }
  },
  600_000,
);
