import { editedText } from "@uncaged/workflow-plan/editing";
import type { Locator, Page } from "playwright-core";
import type { PlanView } from "../../../packages/server/src/entry/api-types.ts";
import type { Serving } from "../../../packages/server/test/serving.ts";
import { type Look, open } from "./browser.ts";
import { until } from "../../../packages/workflow/test/fixtures/until.ts";

type GraphText = {
  nodes: { id: string; type: string; x: number; y: number; data?: Record<string, unknown> }[];
  connections: { source: string; target: string; sourceHandle?: string; targetHandle?: string }[];
};

/** A graph of agents in a row, each followed by the next. */
export const chain = (...names: string[]): GraphText => ({
  nodes: [
    { id: "node_1", type: "start", x: 0, y: 0 },
    ...names.map((agentName, index) => ({
      id: `node_${index + 2}`,
      type: "agent",
      x: (index + 1) * 320,
      y: 0,
      data: { agentName },
    })),
  ],
  connections: names.map((_, index) => ({
    source: `node_${index + 1}`,
    target: `node_${index + 2}`,
    sourceHandle: "output",
    targetHandle: "input",
  })),
});

/** Opens the editor and imports a draft from a file. Each page has its own storage. */
export async function openEditor(
  serving: Serving,
  draft?: GraphText,
  look: Look = {},
): Promise<Page> {
  const page = await open(serving, "/editor/graph", { width: 1440, height: 900, ...look });
  await page.locator(".react-flow__node").first().waitFor();
  if (draft) {
    await importText(page, "draft.json", JSON.stringify(draft, null, 2));
    // Imports take time: an earlier key would act on the old document.
    await untilDraft(page, ({ nodes }) => nodes.length === draft.nodes.length);
  }
  return page;
}

export async function importText(
  page: Page,
  name: string,
  text: string,
  mimeType = "application/json",
): Promise<void> {
  await page.getByRole("button", { name: "File", exact: true }).click();
  await page.getByRole("menuitem", { name: "Import…" }).click();
  const buffer = Buffer.from(text);
  await page.getByLabel("File to import").setInputFiles({ name, mimeType, buffer });
}

/** Opens a shown plan in the editor, and imports its definition with replaced text. */
export async function editPlan(
  { page, serving, id }: { page: Page; serving: Serving; id: string },
  text: string | RegExp,
  by: string,
): Promise<void> {
  const plan = await serving.ok<PlanView>(`/api/plans/${id}`);
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await page.locator(".react-flow__node").first().waitFor();
  await importText(page, "plan.json", editedText(plan).replaceAll(text, by));
}

export const nodeOf = (page: Page, title: string): Locator =>
  page.locator(".react-flow__node").filter({ hasText: title });

export async function draftOf(page: Page): Promise<GraphText> {
  const text = await page.evaluate(() => {
    dispatchEvent(new Event("pagehide"));
    return localStorage.getItem("agentflow-workflow");
  });
  return JSON.parse(text ?? "null") as GraphText;
}

export async function untilDraft(
  page: Page,
  isRight: (draft: GraphText) => boolean,
): Promise<void> {
  let draft: GraphText | null = null;
  await until(
    async () => (draft = await draftOf(page)) !== null && isRight(draft),
    () => `unexpected draft: ${JSON.stringify(draft)}`,
  );
}

export const portOf = (page: Page, title: string, port: string): Locator =>
  nodeOf(page, title).locator(`[data-handleid="${port}"]`);
