import { expect, test } from "bun:test";
import { changedRoles } from "./roles.ts";

type Files = Record<string, string>;

/** Which of these roles an edit changes: a text that is replaced by another, in whatever file it is. */
function changedBy(files: Files, roles: string, from = "", to = ""): string[] {
  const after = Object.entries(files).map(
    ([file, text]) => [file, text.replace(from, to)] as const,
  );
  return changedRoles(new Map(Object.entries(files)), new Map(after), roles.split(" "));
}

const moderated: Files = {
  "workflow.ts": `
    import { createRoleModerator, END } from "@uncaged/workflow";
    import { ask as call } from "./lib/ask.ts";
    import prompt from "./plan.md";
    type Meta = { planner: object; writer: object };
    const model = "small";
    const planner = async ({ start }: { start: string }) => ({ content: await call(prompt, model), meta: {} });
    const writer = async () => ({ content: shorten("words"), meta: {} });
    function shorten(text: string) { return text.slice(0, limit); }
    let limit = 1;
    limit = 80;
    export const descriptor = { description: "d", roles: { planner: { schema: {} }, writer: { schema: {} } } };
    export const run = createRoleModerator<Meta>({
      roles: { planner, writer },
      moderator: ({ steps }) => (steps.length === 0 ? "planner" : steps.length < 3 ? "writer" : END),
    });`,
  "lib/ask.ts": `
    export { ask } from "./model";
    export const other = 1;`,
  "lib/model.ts": `
    import * as names from "./names";
    export const ask = async (text: string, model: string) => text + names.of(model);
    export const unused = 2;`,
  "lib/names.ts": "export const of = (model: string) => `${model}!`;",
  "plan.md": "Plan it.",
  "../node_modules/lib/index.js": "export const library = 1;",
};

test("what a role is made of decides whether it has changed, from declaration to declaration and file to file", () => {
  const changed = (from: string, to: string) => changedBy(moderated, "planner writer", from, to);
  expect(changed("", "")).toEqual([]);
  expect(changed('"words"', '"letters"')).toEqual(["writer"]);
  expect(changed("slice(0", "slice(1")).toEqual(["writer"]);
  expect(changed("limit = 80", "limit = 90")).toEqual(["writer"]);
  expect(changed('"small"', '"large"')).toEqual(["planner"]);
  expect(changed("text + names", "names + text")).toEqual(["planner"]);
  expect(changed("}!`", "}?`")).toEqual(["planner"]);
  expect(changed("Plan it.", "Plan it well.")).toEqual(["planner"]);
  expect(changed("writer: { schema: {}", "writer: { schema: true")).toEqual(["writer"]);
});

test("what no role does leaves all of them as they are: types, comments, the way between them", () => {
  const changed = (from: string, to: string) => changedBy(moderated, "planner writer", from, to);
  expect(changed("type Meta", "type Other = 1; type Meta")).toEqual([]);
  expect(changed("const planner", "// the first\n\n const planner")).toEqual([]);
  expect(changed("steps.length < 3", "steps.length < 4")).toEqual([]);
  expect(changed("unused = 2", "unused = 3")).toEqual([]);
  expect(changed("other = 1", "other = 2")).toEqual([]);
});

test("a role that is gone has changed, and so has each one when a library has", () => {
  expect(changedBy(moderated, "planner writer", "{ planner, writer }", "{ planner }")).toEqual([
    "writer",
  ]);
  expect(changedBy(moderated, "planner writer", "library = 1", "library = 2")).toEqual([
    "planner",
    "writer",
  ]);
  const { "plan.md": _, ...rest } = moderated;
  const more = { ...rest, "../node_modules/lib/other.js": "export const more = 1;" };
  const versions = [moderated, more].map((files) => new Map(Object.entries(files))) as [
    Map<string, string>,
    Map<string, string>,
  ];
  expect(changedRoles(...versions, ["planner", "writer"])).toEqual(["planner"]);
});

const durable: Files = {
  "workflow.ts": `
    export const run = durable(async function* (step, input) {
      const style = "dry";
      const plan = yield* step("plan", () => ask(input.prompt));
      for (const topic of plan.topics.slice(0, 3)) yield* step(\`write \${topic}\`, () => write(topic, style));
      yield* step.all({ test: () => check("tests"), lint: () => check("lint") });
      const { value } = yield* step.wait("approval", { schema: { type: "boolean" } });
      if (value) yield* step("merge", merge);
      return "done";
    });
    const ask = (text) => text;
    const write = (topic, how) => topic + how;
    const check = (what) => what;
    async function merge() { return { content: "merged", meta: {} }; }`,
};

test("a step of a durable workflow is its call, with the variables that it takes from around it", () => {
  const changed = (from: string, to: string) =>
    changedBy(durable, "plan write/a test lint approval merge", from, to);
  const steps = (from: string, to: string) =>
    changedBy(durable, "plan test lint approval merge", from, to);
  expect(steps("(text) => text", "(text) => text + 1")).toEqual(["plan"]);
  expect(steps('check("lint")', 'check("types")')).toEqual(["lint"]);
  expect(steps("(what) => what", "(what) => what + 1")).toEqual(["test", "lint"]);
  expect(steps('"boolean"', '"string"')).toEqual(["approval"]);
  expect(steps('"merged"', '"gone"')).toEqual(["merge"]);
  expect(steps('return "done"', 'return "ready"')).toEqual([]);
  expect(changed('"merged"', '"gone"')).toEqual(["write/a", "merge"]);
  const files = durable["workflow.ts"] ?? "";
  const writes = (from: string, to: string) =>
    changedRoles(
      new Map([["workflow.ts", files]]),
      new Map([["workflow.ts", files.replace(from, to)]]),
      ["write a b"],
    );
  expect(writes('"dry"', '"warm"')).toEqual(["write a b"]);
  expect(writes("slice(0, 3)", "slice(0, 2)")).toEqual(["write a b"]);
  expect(writes('"merged"', '"gone"')).toEqual([]);
});

test("a step of a step workflow is its part of the document, with all that is around the list of steps", () => {
  const document = {
    ...{ version: "3.0", name: "flow", registry: { vars: { tone: "dry" } } },
    steps: [
      { id: "LLM_A", in: { prompt: "it's first" }, next: "LLM_B" },
      { id: "LLM_B", in: { prompt: "second" } },
    ],
  };
  const text = `const document = JSON.parse(${JSON.stringify(JSON.stringify(document))});
    export const { run, descriptor } = stepsBundle(document, {});`;
  const changed = (from: string, to: string) =>
    changedBy({ "module.ts": text, "flow.json": text }, "LLM_A LLM_B LLM_A/LLM_B", from, to);
  expect(changed("second", "third")).toEqual(["LLM_B", "LLM_A/LLM_B"]);
  expect(changed("first", "third")).toEqual(["LLM_A", "LLM_A/LLM_B"]);
  expect(changed("dry", "warm")).toEqual(["LLM_A", "LLM_B", "LLM_A/LLM_B"]);
});

test("a role whose name no source has, has changed with anything", () => {
  const files = { "workflow.ts": "export async function* run({ prompt }) { yield made(prompt); }" };
  expect(changedBy(files, "made-up", "made(", "make(")).toEqual(["made-up"]);
  expect(changedBy(files, "made-up")).toEqual([]);
});
