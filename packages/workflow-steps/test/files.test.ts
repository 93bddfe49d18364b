import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { FileAdapter, RegistryDocument, StepDocument } from "../src/entry/index.ts";
import { flow, ran, type Trial } from "./ran.ts";

let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "uncaged-law-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const vars = ["$o(OBJECT)", "$name(STRING) = x", "$n(NUMBER)"];
const text = (path: string): string => readFileSync(join(cwd, path), "utf8");

/** Runs one step in the folder. */
const writing = (step: Partial<StepDocument>, registry: RegistryDocument = {}, trial: Trial = {}) =>
  ran(flow([{ id: "Write_A", next: "RETURN", ...step }], { vars, ...registry }), { cwd, ...trial });

test("a Write writes texts unchanged, objects as JSON with two spaces, and null as an empty file", async () => {
  await writing({ target: "/a.txt", value: "plain" });
  await writing({ target: "/o.json", value: { a: [1] } });
  await writing({ target: "='d/n' + '.txt'", value: null });
  await writing({ target: "/{$name}/5.txt", value: "=2 + 3" });
  expect(text("a.txt")).toBe("plain");
  expect(text("o.json")).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(text("d/n.txt")).toBe("");
  await writing({ target: "/n.json", value: "=$o.nothing" });
  expect(text("n.json")).toBe("null");
  expect(text("x/5.txt")).toBe("5");
});

test("a Write publishes its file, which is in the snapshot and the checkpoint", async () => {
  const { of, payloads, context } = await writing({ target: "/out/ü.txt", value: "ü" });
  expect(of("Write_A")).toBe("step_start file_start file_done step_done");
  expect(payloads("file_start")).toEqual([{ path: "out/ü.txt" }]);
  expect(payloads("file_done")).toEqual([{ path: "out/ü.txt", size_bytes: 2 }]);
  expect(payloads("step_done")).toEqual([
    { outputs: { "/out/ü.txt": { _file: true, path: "/out/ü.txt" } } },
  ]);
  expect(context.snapshot().artifacts).toEqual(["out/ü.txt"]);
  expect(context.checkpoint().artifacts).toEqual({
    "out/ü.txt": { path: "out/ü.txt", size_bytes: 2 },
  });
});

test("an event has the size of the data if the adapter reports no size", async () => {
  const files = new Map<string, unknown>();
  const file: FileAdapter = {
    read: async () => "",
    write: async (path, data) => void files.set(path, data),
    exists: async () => false,
    remove: async () => undefined,
    list: async () => [],
  };
  const { payloads, status } = await writing(
    { target: "/ü.txt", value: "ü" },
    {},
    { adapters: { file } },
  );
  expect(status).toBe("completed");
  expect(payloads("file_done")).toEqual([{ path: "ü.txt", size_bytes: 2 }]);
  expect([...files]).toEqual([["ü.txt", "ü"]]);
});

test("files can have the names of inherited properties", async () => {
  const { context } = await writing({ target: "/constructor", value: "x" });
  const { artifacts, ...rest } = context.checkpoint();
  expect(Object.keys(artifacts)).toEqual(["constructor"]);
  const from = JSON.parse(JSON.stringify({ ...rest, artifacts, currentStepID: "Write_A" }));
  expect((await writing({ target: "/toString", value: "y" }, {}, { from })).status).toBe(
    "completed",
  );
  expect((await writing({ target: "/__proto__", value: "x" })).status).toBe("failed");
});

test("a file outside registry.files.artifacts is refused", async () => {
  const registry = { files: { artifacts: ["out/**", "*.md"] } };
  expect((await writing({ target: "/etc/x", value: "x" }, registry)).status).toBe("failed");
  expect((await writing({ target: "/out/../x.txt", value: "x" }, registry)).status).toBe("failed");
  expect((await writing({ target: "/out/a/b.txt", value: "x" }, registry)).status).toBe(
    "completed",
  );
  expect((await writing({ target: "/a.md", value: "x" }, registry)).status).toBe("completed");
});

test("a file of `out` is written with the variables, and its content is not in the event", async () => {
  const { payloads, variables } = await writing(
    {
      id: "Work_A",
      out: { $o: "=_result", "/out/{$name}.json": "=_result" },
    },
    {},
    { work: { Work_A: () => ({ a: 1 }) } },
  );
  expect(variables.$o).toEqual({ a: 1 });
  expect(JSON.parse(text("out/x.json"))).toEqual({ a: 1 });
  expect(payloads("step_done")).toEqual([
    { outputs: { $o: { a: 1 }, "/out/{$name}.json": { _file: true, path: "/out/x.json" } } },
  ]);
});

test("a Write that fails is handled by onError", async () => {
  const document = flow(
    [
      { id: "Write_A", target: "/../x", value: "x", onError: "Set_E", next: "RETURN" },
      { id: "Set_E", target: "$o", value: "=_error", next: "RETURN" },
    ],
    { vars },
  );
  const { status, variables } = await ran(document, { cwd });
  expect([status, variables.$o]).toMatchObject(["completed", { stepID: "Write_A" }]);
});

test("temporary files are deleted when the run completes, and kept when it fails", async () => {
  const steps = (last: StepDocument): StepDocument[] => [
    { id: "Write_A", target: "/.tmp/x.txt", value: "x", next: last.id },
    last,
  ];
  const done = await ran(flow(steps({ id: "Stop_A" })), { cwd });
  expect(done.context.snapshot().artifacts).toEqual([`.tmp/${done.context.runID}/x.txt`]);
  expect(existsSync(join(cwd, ".tmp", done.context.runID))).toBe(false);
  const failed = await ran(flow(steps({ id: "Noop_A", if: "1 / 0", next: "RETURN" })), { cwd });
  expect(text(`.tmp/${failed.context.runID}/x.txt`)).toBe("x");
});

test("a run reads files only below its folder", async () => {
  writeFileSync(join(cwd, "child.json"), JSON.stringify(flow([{ id: "Noop_C", next: "RETURN" }])));
  const document = (path: string) =>
    flow([{ id: "Subflow_A", in: { workflow_path: path }, next: "RETURN" }]);
  expect((await ran(document("child.json"), { cwd })).status).toBe("completed");
  expect((await ran(document("../child.json"), { cwd })).status).toBe("failed");
});

test("a Write without a file adapter fails, and the error names the adapter", async () => {
  const document = flow([{ id: "Write_A", target: "/a.txt", value: "a", next: "RETURN" }]);
  const { error } = await ran(document);
  const message = expect.stringContaining("file");
  expect(error).toMatchObject({ stepID: "Write_A", code: "NO_ADAPTER", message });
});
