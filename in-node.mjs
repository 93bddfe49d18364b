// What the libraries do in Node: a run of every construct, a Pause, files, a thread in memory, a role.
import { createRoleModerator, END } from "@uncaged/workflow";
import { runThread } from "@uncaged/workflow/testing";
import { describe, role, scriptedAgent } from "@uncaged/workflow-agents";
import { ledgerOf } from "@uncaged/workflow-agents/ledger";
import { Engine, stepsBundle } from "@uncaged/workflow-steps";
import { fileAdapter, stepTools, toolAdapter } from "@uncaged/workflow-steps/adapters";
import { checkedDocument } from "@uncaged/workflow-steps/source";
import { readFileSync } from "node:fs";
import { z } from "zod";

const cwd = process.argv[2];
const vars = ["$all(ARRAY) = []", "$by(OBJECT)", "$answer(OBJECT)", "$text(STRING)", "$child(OBJECT)"];
const source = {
  version: "3.16",
  name: "all",
  registry: { vars, files: { artifacts: ["out/**"] } },
  steps: [
    { id: "Set_A", target: "$all[0]", value: "=1 + 2", next: "Noop_Fork" },
    { id: "Noop_Fork", children: ["Loop_One", "Loop_Many"], next: "Branch_A" },
    { id: "Loop_One", source: [1, 2], children: ["Set_One"], next: "RETURN" },
    { id: "Set_One", target: "$all[$all.length]", value: "=_item", next: "RETURN" },
    { id: "Loop_Many", source: [1, 2, 3], mode: "parallel", children: ["Set_Many"], next: "RETURN" },
    { id: "Set_Many", target: "$by.k{_index}", value: "=_item", next: "RETURN" },
    { id: "Branch_A", cases: [["$all.length == 3", "Write_A"]], next: "Pause_A" },
    { id: "Write_A", target: "/out/a.txt", value: "=$all", next: "Tool_ReadFile" },
    { id: "Tool_ReadFile", input: { file_path: "out/a.txt" }, out: "$text", next: "RETURN" },
    { id: "Pause_A", resumeResultTarget: "$answer", reason: "go on?", next: "Subflow_A" },
    { id: "Subflow_A", input: { workflow_path: "child.json" }, out: "$child", next: "Stop_A" },
    { id: "Stop_A" },
  ],
};
const child = {
  version: "3.16",
  name: "child",
  registry: { vars: ["$x(INT)"] },
  steps: [{ id: "Set_X", target: "$x", value: 5, next: "RETURN" }],
};
const { document } = checkedDocument(JSON.stringify(source), "all.json");
const adapters = { file: fileAdapter({ cwd }), tool: toolAdapter(stepTools(), { cwd }) };
const engine = new Engine(document, { subflows: { "child.json": child } });
const context = await engine.execute({}, adapters);
const { paused } = context.snapshot();
await context.resume({ token: paused.token, payload: { ok: true } });
await context.done;
const { status, variables } = context.snapshot();
const again = await new Engine(document, { subflows: { "child.json": child }, cwd }).executeFrom(
  { ...context.checkpoint(), currentStepID: "Write_A" },
  { tool: adapters.tool },
);

const planner = role({
  description: "Plans",
  agent: scriptedAgent({ "You plan": '{"files":["a.ts"]}' }),
  systemPrompt: "You plan.",
  schema: z.object({ files: z.array(z.string()) }),
});
const run = createRoleModerator({
  roles: { planner },
  moderator: ({ steps }) => (steps.length > 0 ? END : "planner"),
});
const planned = await runThread(run);
const bundle = stepsBundle(child);
const thread = await runThread(bundle.run);
console.log(
  JSON.stringify({
    status,
    all: variables.$all,
    by: variables.$by,
    answer: variables.$answer,
    child: variables.$child.status,
    text: variables.$text,
    file: readFileSync(`${cwd}/out/a.txt`, "utf8"),
    again: again.status,
    planned: planned.steps.at(-1).meta.files,
    described: Object.keys(describe("x", { planner }).roles),
    thread: thread.status,
    cost: ledgerOf([]).total.cost,
  }),
);
