import type { Locator, Page } from "playwright-core";
import type { Status } from "../../../packages/server/src/entry/api-types.ts";
import type { Serving } from "../../../packages/server/test/serving.ts";
import { openaiServer } from "../../../packages/workflow-agents/test/openai-server.ts";
import { type Look, open } from "./browser.ts";

/**
 * A model for the graphs of a server. An agent with subagents calls them first. An agent with the system prompt
 * `say: text` answers with the text. With `fail once`, the first request fails. After `hold()`, subagents do not finish
 * their answers until the test calls the returned function.
 */
export async function scriptedModel(serving: Serving) {
  let failures = 0;
  let held: Promise<void> | undefined;
  const server = await openaiServer(({ messages, tools = [] }) => {
    const all = JSON.stringify(messages);
    const [first] = messages;
    const system = typeof first?.content === "string" ? first.content : "";
    if (system === "fail once" && (failures += 1) === 1) {
      const message = "the model is tired";
      return { fault: { kind: "status", status: 400, type: "invalid_request_error", message } };
    }
    if (system.startsWith("say: ")) return { text: system.slice("say: ".length) };
    const calls = tools.flatMap((tool) => ("function" in tool ? [tool.function.name] : []));
    const [call] = calls.filter((name) => name.startsWith("subagent"));
    if (!call) return { text: "Rivers **bring** salt. ".repeat(4), held };
    if (!all.includes('"role":"tool"')) {
      return { tools: [{ name: call, input: { message: "What is known?" } }] };
    }
    return { text: all.includes("Reviewer feedback") ? "A second text." : "A first text." };
  });
  serving.more = { ...serving.more, OPENAI_API_KEY: server.key, OPENAI_BASE_URL: server.url };
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    held = promise;
    return resolve;
  };
  return { ...server, hold };
}

/** Opens the editor of a new graph in a browser with stored values. */
export async function openKept(
  serving: Serving,
  kept: Record<string, string>,
  look: Look = { width: 1150 },
): Promise<Page> {
  const page = await open(serving, "/workflows", look);
  await page.evaluate((values) => {
    for (const [name, value] of Object.entries(values)) localStorage.setItem(name, value);
  }, kept);
  await page.goto(`http://127.0.0.1:${serving.port}/editor/graph`);
  return page;
}

/** A stored graph: a Start, then nodes in a row. */
export function chain(...nodes: { type: string; data: object }[]): string {
  const all = [{ type: "start", data: { initialInput: "Begin" } }, ...nodes];
  return JSON.stringify(
    {
      nodes: all.map((node, index) => ({ id: `n${index}`, ...node, x: index * 280, y: 100 })),
      connections: nodes.map((_, index) => ({
        ...{ source: `n${index}`, target: `n${index + 1}` },
        ...(index > 0 && nodes[index - 1]?.type === "approval" && { sourceHandle: "approve" }),
      })),
    },
    null,
    2,
  );
}

export const nodeOf = (page: Page, id: string): Locator =>
  page.locator(`.react-flow__node[data-id="${id}"]`);

/** Waits until the selected run has a status. */
export const statusIs = (page: Page, status: Status): Promise<void> =>
  page.getByText(`Run: ${status}`, { exact: true }).waitFor({ state: "attached" });

/** A row of the selected run's trace, by a pattern for its state and its name. */
export const traced = (page: Page, name: RegExp): Locator =>
  page.getByRole("treegrid", { name: "Trace" }).getByRole("row", { name }).first();
