import { expect, test } from "bun:test";
import { changedRoles } from "./roles.ts";

type Files = Record<string, string>;

/** Returns the roles that change when `from` is replaced by `to` in every file. `roles` are separated by spaces. */
function changedBy(files: Files, roles: string, from = "", to = ""): string[] {
  const after = Object.entries(files).map(
    ([file, text]) => [file, text.replace(from, to)] as const,
  );
  return changedRoles(new Map(Object.entries(files)), new Map(after), roles.split(" "));
}

const workflow: Files = {
  "workflow.ts": `
    import { createRoleModerator, END } from "@uncaged/workflow";
    import { planner } from "./roles/planner";
    import { write as writer, type Draft } from "./roles/writer.js";
    const critic = async () => ({ content: "fine", meta: {} });
    export const run = createRoleModerator({
      roles: { planner, writer, critic },
      moderator: ({ steps }) => (steps.length < 3 ? "planner" : END),
    });`,
  "roles/planner.ts": `
    import { ask } from "../lib/ask";
    import prompt from "./plan.md";
    export const planner = async () => ({ content: await ask(prompt), meta: {} });`,
  "roles/writer.ts": `
    enum Tone { dry }
    export type Draft = string;
    export const write = async () => ({ content: String(Tone.dry), meta: {} });`,
  "lib/ask/index.ts": "export { ask } from './model.ts';",
  "lib/ask/model.ts": "export const ask = async (text: string) => text;",
  "roles/plan.md": "Plan it.",
  "../node_modules/lib/index.js": "export const library = 1;",
};
const changed = (from: string, to: string) =>
  changedBy(workflow, "planner writer critic", from, to);

test("a role in its own file changes with that file and its imports, and so do the roles of the importing file", () => {
  expect(changed("Tone.dry", "Tone[0]")).toEqual(["writer", "critic"]);
  expect(changed("await ask", "ask")).toEqual(["planner", "critic"]);
  expect(changed("async (text: string)", "async (text: any)")).toEqual(["planner", "critic"]);
  expect(changed("Plan it.", "Plan it well.")).toEqual(["planner", "critic"]);
  expect(changed("./model.ts", "./model.js")).toEqual(["planner", "critic"]);
});

test("a role in the workflow's own file changes with that file; roles in other files do not change", () => {
  expect(changed("", "")).toEqual([]);
  expect(changed('"fine"', '"good"')).toEqual(["critic"]);
  expect(changed("steps.length < 3", "steps.length < 4")).toEqual(["critic"]);
});

test("a role that moved to another file or is not found has changed", () => {
  expect(changed('import { planner } from "./roles/planner"', "const planner = 1")).toEqual([
    "planner",
    "critic",
  ]);
  expect(changedBy(workflow, "gone", '"fine"', '"good"')).toEqual(["gone"]);
});

test("every role changes with a changed library file, but not with an added library file", () => {
  expect(changed("library = 1", "library = 2")).toEqual(["planner", "writer", "critic"]);
  const more = { ...workflow, "../node_modules/lib/other.js": "export const more = 1;" };
  const versions = [workflow, more].map((files) => new Map(Object.entries(files))) as [
    Map<string, string>,
    Map<string, string>,
  ];
  expect(changedRoles(...versions, ["planner", "critic"])).toEqual([]);
});

test("a part of a role belongs to the files of all names in its path", () => {
  expect(changedBy(workflow, "writer/0 planner/writer", "await ask", "ask")).toEqual([
    "planner/writer",
  ]);
});

test("a role of a JSON workflow changes with the generated module, not with the layout of the JSON", () => {
  const flow = {
    "module.ts": 'export const { run } = flow(JSON.parse("[1]"));',
    "flow.json": "[1]",
  };
  expect(changedBy(flow, "LLM_A LLM_B", "[1]", "[2]")).toEqual(["LLM_A", "LLM_B"]);
  expect(
    changedRoles(
      new Map(Object.entries(flow)),
      new Map([
        ["module.ts", flow["module.ts"]],
        ["flow.json", "[ 1 ]"],
      ]),
      ["LLM_A"],
    ),
  ).toEqual([]);
});
