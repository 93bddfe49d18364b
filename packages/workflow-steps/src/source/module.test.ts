import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { WorkflowError } from "@uncaged/workflow";
import type { WorkflowDocument } from "../document/format.ts";
import { findIn, stepsSource } from "./module.ts";

const folder = mkdtempSync(join(tmpdir(), "steps-module-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const stop = { id: "Stop_Z" };
/** Returns a workflow that runs the given steps in order and ends with a Stop. */
const flow = (...steps: { id: string; [field: string]: unknown }[]): object => ({
  version: "3.18",
  name: "w",
  registry: { params: ["path(STRING) = a"], vars: ["$a(STRING)"], docs: { "7": "Rules" } },
  steps: [...steps, stop].map((step, at, all) => ({ next: all[at + 1]?.id, ...step })),
});

async function codeOf(document: object | string, file = "flow.json"): Promise<string> {
  const text = typeof document === "string" ? document : JSON.stringify(document);
  const { code } = await stepsSource(() => undefined).module(text, join(folder, file));
  return code;
}

/** Returns the adapters that the code of a workflow imports. */
async function adaptersFor(
  ...steps: { id: string; [field: string]: unknown }[]
): Promise<string[]> {
  const code = await codeOf(flow(...steps));
  const names = [...code.matchAll(/\badapters\.(\w+)\(/g)].map(([, name = ""]) => name);
  expect(code.includes("@uncaged/workflow-steps/adapters")).toBe(names.length > 0);
  return [...new Set(names)].toSorted();
}

test("a workflow that is not beside the file is searched in the project, then by its registered name, with its children", async () => {
  const running = (path: string) =>
    flow({ id: "Tool_WorkflowRun", input: { workflow_path: path } });
  const leaf = flow({ id: "Set_A", target: "$a", value: "leaf" }) as WorkflowDocument;
  const named = {
    document: running("parts/b.json") as WorkflowDocument,
    subflows: { "parts/b.json": running("parts/c.json") as WorkflowDocument, "parts/c.json": leaf },
  };
  const project = mkdtempSync(join(tmpdir(), "steps-project-"));
  writeFileSync(join(project, "here.json"), JSON.stringify(leaf));
  const find = findIn(project, async (name) => {
    if (name === "known") return named;
    throw new WorkflowError({ code: "WORKFLOW_NOT_FOUND", message: name });
  });
  const source = stepsSource(() => undefined, { find });
  const built = (path: string) =>
    source.module(JSON.stringify(running(path)), join(folder, "f.json"));
  expect((await built("here.json")).code).toContain("leaf");
  const { code } = await built("known");
  for (const path of ["known", "known/parts/b.json", "known/parts/c.json"]) {
    expect(code).toContain(`["${path}", JSON.parse(`);
  }
  for (const path of ["unknown", `../${basename(project)}/../x.json`]) {
    expect(built(path)).rejects.toMatchObject({ code: "SUBFLOW_MISSING" });
  }
  rmSync(project, { recursive: true });
});

describe("the code of a step workflow's bundle", () => {
  test("does not depend on spacing, the order of a step's fields or the language", async () => {
    const code = await codeOf(flow({ id: "Set_A", target: "$a", value: 1 }));
    const other = flow({ value: 1, target: "$a", id: "Set_A" });
    expect(await codeOf(JSON.stringify({ $schema: "x", ...other }, null, 2))).toBe(code);
    expect(await codeOf(Bun.YAML.stringify(other), "flow.yaml")).toBe(code);
  });

  test("depends on the order of the targets in out", async () => {
    const writing = (out: object) => codeOf(flow({ id: "Set_A", out }));
    expect(await writing({ $a: 1, "/b": 2 })).not.toBe(await writing({ "/b": 2, $a: 1 }));
  });

  test("imports only the adapters that its steps use", async () => {
    const set = { id: "Set_A", target: "$a", value: 1 };
    const request = { prompt: "hi" };
    expect(await adaptersFor(set)).toEqual([]);
    expect(await adaptersFor({ id: "Write_A", target: "/a", value: 1 })).toEqual(["fileAdapter"]);
    expect(await adaptersFor({ ...set, out: { "/a": 1 } })).toEqual(["fileAdapter"]);
    expect(await adaptersFor({ id: "LLM_A", model: "claude-opus-4-6", in: request })).toEqual([
      ...["anthropicModels", "modelAdapter"],
    ]);
    expect(await adaptersFor({ id: "LLM_A", in: { ...request, model: "openai/gpt-5" } })).toEqual([
      ...["modelAdapter", "openaiModels"],
    ]);
    expect(
      await adaptersFor({ id: "LLM_A", in: { ...request, docs: [7], tools: ["search"] } }),
    ).toEqual([...["anthropicModels", "docAdapter", "modelAdapter", "openaiModels", "stepTools"]]);
    expect(await adaptersFor({ id: "Tool_ReadFile", in: { file_path: "a" } })).toEqual([
      ...["stepTools", "toolAdapter"],
    ]);
    expect(await adaptersFor({ id: "Subflow_A", in: { workflow_path: "=path" } })).toEqual([
      "fileAdapter",
    ]);
  });

  test("contains the workflows that it runs, and their adapters", async () => {
    writeFileSync(
      join(folder, "child.yaml"),
      Bun.YAML.stringify(flow({ id: "Write_A", target: "/a", value: "x" })),
    );
    const step = { id: "Subflow_A", in: { workflow_path: "./child.yaml" } };
    const code = await codeOf(flow(step));
    expect(code).toContain('subflows: Object.fromEntries([["child.yaml", JSON.parse(');
    expect(code).toContain("fileAdapter({ cwd })");
  });

  test("keeps the key `__proto__`", async () => {
    const text = JSON.stringify(flow({ id: "Set_A", target: "$a", value: 1, meta: { a: 1 } }));
    const code = await codeOf(text.replace('{"a":1}', '{"__proto__":{"a":1}}'));
    expect(code).toContain('\\"__proto__\\"');
  });
});

describe("an invalid step workflow", () => {
  test("is reported with the position in its text, even for a child workflow", async () => {
    const error = await codeOf('{\n  "version": "4.0",\n  "steps": []\n}').then(
      () => null,
      (thrown: { code?: string; details?: string[] }) => thrown,
    );
    expect(error).toMatchObject({ code: "STEPS_INVALID" });
    expect(error?.details?.join("\n")).toContain(`${join(folder, "flow.json")}:2:14: `);
    writeFileSync(join(folder, "bad.json"), "{");
    const step = { id: "Subflow_A", in: { workflow_path: "bad.json" } };
    const child = await codeOf(flow(step)).catch(({ message }: Error) => message);
    expect(child).toStartWith(`${join(folder, "bad.json")}:1:`);
  });

  test("is reported with the step whose file is missing", async () => {
    const step = { id: "Subflow_A", in: { workflow_path: "none.json" } };
    const message = await codeOf(flow(step)).catch((error: Error) => error.message);
    expect(message).toBe(
      `${join(folder, "flow.json")}: Subflow_A: can't read the workflow ${join(folder, "none.json")}`,
    );
  });

  test("reports the warnings of the check", async () => {
    const warnings: string[] = [];
    const text = JSON.stringify(flow({ id: "Set_A", target: "$a", value: 1, mode: "serial" }));
    await stepsSource((warning) => void warnings.push(warning)).module(text, "flow.json");
    expect(warnings).toEqual([
      expect.stringMatching(/^flow\.json:1:\d+: Set_A: mode has no effect/),
    ]);
  });
});
