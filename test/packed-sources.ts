export const bundle = `export const descriptor = {
  description: "Greets.",
  roles: { greeter: { description: "says hello", schema: { type: "object" } } },
};
export async function* run({ prompt }) {
  yield { role: "greeter", content: "hello " + prompt, meta: {} };
  return { returnCode: 0, summary: "greeted" };
}
`;

export const consumer = `import { createRoleModerator, END, type WorkflowFn } from "@uncaged/workflow";
import { WorkflowError } from "@uncaged/workflow/host";
import * as testing from "@uncaged/workflow/testing";

type Meta = { planner: { files: string[] } };
export const run: WorkflowFn = createRoleModerator<Meta>({
  roles: { planner: async () => ({ content: "plan", meta: { files: [] } }) },
  moderator: (ctx) => (ctx.steps.length === 0 ? "planner" : END),
});
export const failed = (error: unknown): boolean => error instanceof WorkflowError;
export { testing };
`;

export const roles = `import { createRoleModerator, END } from "@uncaged/workflow";
import { describe, role, scriptedAgent } from "@uncaged/workflow-agents";
import { z } from "zod";

const planner = role({
  description: "Plans",
  agent: scriptedAgent({ "You plan": '{"files":["a.ts"]}' }),
  systemPrompt: "You plan.",
  schema: z.object({ files: z.array(z.string()) }),
});
export const descriptor = describe("Plans", { planner });
export const run = createRoleModerator({
  roles: { planner },
  moderator: ({ steps }) => (steps.at(-1)?.meta.files.includes("a.ts") ? END : "planner"),
});
`;

export const flow = {
  version: "3.16",
  name: "count",
  registry: { params: ['names([STRING]) = ["a", "b"]'], vars: ['$text(STRING) = ""'] },
  steps: [
    { id: "Loop_Names", source: "=names", children: ["Set_Text"], next: "Write_Text" },
    { id: "Set_Text", target: "$text", value: "=$text + _item", next: "RETURN" },
    { id: "Write_Text", target: "/text.txt", value: "=$text", next: "Stop_Done" },
    { id: "Stop_Done", reason: "written" },
  ],
};

export const asking = {
  ...flow,
  steps: [
    {
      id: "LLM_Ask",
      model: "claude-opus-4-6",
      in: { prompt: "hi" },
      out: "$text",
      next: "Stop_Done",
    },
    { id: "Stop_Done" },
  ],
};

export const graph = { nodes: [{ id: "start", type: "start" }], connections: [] };

export const drawing = `import { graphBundle } from "@uncaged/workflow-graph";
import { agentsByName } from "@uncaged/workflow-graph/agents";
import { checkGraph, runBlocker } from "@uncaged/workflow-graph/document";
import { foldRun, type RunResult, runResult } from "@uncaged/workflow-graph/run";
import { checkedGraph } from "@uncaged/workflow-graph/source";
import { scriptedAgent } from "@uncaged/workflow-agents";

const { document, warnings } = checkedGraph('{"nodes":[],"connections":[]}', "graph.json");
export const problems: string[] = [
  ...warnings,
  ...checkGraph(document, { tools: ["search"] }).errors.map(({ message }) => message),
  runBlocker(document)?.message ?? "none",
];
const agents = agentsByName({ Writer: scriptedAgent({ "": "salt" }) });
export const { run, descriptor } = graphBundle(document, { agents, maxConcurrency: 2 });
const thread = { status: "running", steps: [], createdAt: 0 };
const result: RunResult = runResult({ runId: "1", document, thread, logs: [] });
export const state: object[] = [result.state, foldRun(document, { steps: [] }).state];
`;

export const plan = {
  name: "A plan",
  description: "Do it.",
  trigger: { type: "manual" },
  steps: [{ id: "only", description: "Do it.", agent: "claude", inputs: {}, depends_on: [] }],
  failure_policy: { on_step_failure: "stop" },
};

export const embedding = `import { Engine, type WorkflowDocument } from "@uncaged/workflow-steps";
import { checkedDocument } from "@uncaged/workflow-steps/source";
import { fileAdapter } from "@uncaged/workflow-steps/adapters";
export const runOnce = async (text: string): Promise<string> => {
  const document: WorkflowDocument = checkedDocument(text, "flow.json").document;
  const context = await new Engine(document).execute({}, { file: fileAdapter({ cwd: "." }) });
  return context.status;
};
`;

export const reader = `import type { Host } from "@uncaged/workflow/host";
import { type Ledger, ledgerOf } from "@uncaged/workflow-agents/ledger";
export const costOf = async (host: Host, hash: string, threadId: string): Promise<number> => {
  const { total }: Ledger = ledgerOf(await host.attempts({ hash, threadId }));
  return total.cost;
};
`;
