import { terminalUser } from "@uncaged/workflow/internal";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { playStore, removeFolders, type Store } from "./program.ts";

afterAll(removeFolders);

type Checkpoint = {
  _type: string;
  _version: number;
  threadId: string;
  status: string;
  currentStepID: string;
  variables: Record<string, unknown>;
  params: Record<string, unknown>;
  steps: number;
};
type View = {
  threadId: string;
  status: string;
  maxRounds: number;
  forkFrom: { threadId: string; steps: number } | null;
  steps: { role: string; content: string; meta: Record<string, unknown> }[];
  result: { returnCode: number; summary: string } | null;
};

/** A step workflow that joins names, asks for a note, and writes both to a file. */
const flow = {
  version: "3.16",
  name: "join",
  registry: {
    params: ['names([STRING]) = ["a", "b"]', "path(STRING) = out.txt"],
    vars: ['$text(STRING) = ""', "$note(STRING)"],
  },
  steps: [
    { id: "Loop_Names", source: "=names", children: ["Set_Text"], next: "Pause_Note" },
    { id: "Set_Text", target: "$text", value: "=$text + _item", print: "=_item", next: "RETURN" },
    { id: "Pause_Note", reason: "A note?", resumeResultTarget: "$note", next: "Write_Out" },
    { id: "Write_Out", target: "='/' + path", value: "=$text + $note", next: "Stop_Done" },
    { id: "Stop_Done", reason: "written" },
  ],
};

let store: Store;

function write(name: string, document: object | string): string {
  const path = join(store.folder, name);
  mkdirSync(join(path, ".."), { recursive: true });
  writeFileSync(path, typeof document === "string" ? document : JSON.stringify(document, null, 2));
  return path;
}

const read = (id: string) => store.json<View>(["thread", id]);
const checkpoint = async (id: string): Promise<Checkpoint> =>
  JSON.parse(await store.ok(["thread", id, "--checkpoint"])) as Checkpoint;
const out = (name = "out.txt") => readFileSync(join(store.folder, name), "utf8");

/** Starts a thread that waits at its Pause. */
async function waiting(params: object = {}): Promise<string> {
  const run = await store.run(["run", "join", "--params", JSON.stringify(params), "--wait"]);
  expect(run.code).toBe(6);
  return run.stdout.trim();
}

/** Starts a thread and answers its Pause. */
async function ended(note: string, params: object = {}): Promise<string> {
  const id = await waiting(params);
  await store.ok(["resume", id, "--input", note]);
  await store.until(id, "completed");
  return id;
}

beforeAll(async () => {
  store = await playStore({ inMemory: true });
  await store.ok(["add", "join", write("join.json", flow)]);
});

describe("add", () => {
  test("builds the same bundle for the same workflow in any folder, order and language", async () => {
    const hash = await store.ok(["add", "join", "join.json"]);
    const { version, steps, registry, name } = flow;
    write("deep/er/other.json", JSON.stringify({ steps, registry, name, version }));
    write("other.yaml", Bun.YAML.stringify(flow, null, 2));
    expect(await store.ok(["add", "join", "deep/er/other.json"])).toBe(hash);
    expect((await store.json<{ hash: string }>(["build", "other.yaml"])).hash).toBe(hash);
    expect(await store.ok(["add", "join", "other.esm.js"])).toBe(hash);
  }, 180_000);

  test("reports every error with its position, one per line, and writes nothing", async () => {
    const before = store.tree();
    const steps = [
      ...flow.steps.slice(0, 1),
      { id: "Set_Text", target: "$nope", value: 1, next: "No" },
    ];
    const { code, stdout, stderr } = await store.run([
      "add",
      "bad",
      write("bad.json", { ...flow, steps }),
    ]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    const lines = stderr.trimEnd().split("\n");
    expect(lines.length).toBeGreaterThan(2);
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^error: \S*bad\.json:\d+:\d+: /);
    expect(lines.at(-1)).toStartWith("hint: ");
    expect(store.tree()).toEqual(before);
  });

  test("refuses JSON that is not a step workflow, and names its fields", async () => {
    const { code, stderr } = await store.run(["add", "bad", write("package.json", { name: "x" })]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/package\.json:1:1: not a step workflow.*"steps"/);
  });
});

test("show lists the params of a step workflow, and its steps", async () => {
  const shown = await store.ok(["show", "join"]);
  expect(shown).toContain('params    names([STRING]) = ["a", "b"], path(STRING) = out.txt\n');
  expect(shown).toMatch(/Loop_Names {2}Loop\n/);
});

describe("run", () => {
  test("accepts params, and allows enough rounds for a long loop", async () => {
    const id = await waiting({ names: ["x", "y", "z"] });
    const { maxRounds, steps } = await read(id);
    expect(maxRounds).toBe(100_000);
    expect(steps.map(({ role }) => role)).toEqual([
      ...["Set_Text", "Set_Text", "Set_Text", "Loop_Names", "__wait__"],
    ]);
    expect(await checkpoint(id)).toMatchObject({
      params: { names: ["x", "y", "z"], path: "out.txt" },
      variables: { $text: "xyz", $note: null },
    });
  });

  test("refuses invalid params and names all of them", async () => {
    const { code, stdout, stderr } = await store.run([
      ...["run", "join", "--params", '{"names":3,"more":1}', "--wait"],
    ]);
    expect(code).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toContain("params/names must be array");
    expect(stderr).toContain('"more"');
  });
});

describe("a Pause", () => {
  test("is shown with the command that answers it, and the answer sets the variable", async () => {
    const id = await waiting();
    const { stdout, stderr } = await store.run(["follow", id]);
    expect(stdout).toMatch(/Pause_Note .* A note\?\nwaiting: A note\?\n$/);
    expect(stderr).toContain(`answer it: uncaged-workflow resume ${id} --input 'your answer'`);
    await store.ok(["resume", id, "--input", " end"]);
    await store.until(id, "completed");
    expect(out()).toBe("ab end");
    expect((await read(id)).result).toEqual({ returnCode: 0, summary: "written" });
  });
});

describe("thread --checkpoint", () => {
  test("prints the state before the Pause and at the end", async () => {
    const id = await waiting();
    expect(await checkpoint(id)).toMatchObject({
      _type: "vl_workflow_checkpoint",
      _version: 2,
      status: "paused",
      currentStepID: "Pause_Note",
      threadId: id,
      steps: 4,
    });
    await store.ok(["resume", id, "--input", '{"deep":[1]}']);
    await store.until(id, "completed");
    expect(await store.json<Checkpoint>(["thread", id, "--checkpoint"])).toMatchObject({
      status: "stopped",
      currentStepID: "RETURN",
      variables: { $note: { deep: [1] } },
    });
  });

  test("refuses a thread that is not of a step workflow", async () => {
    const id = await store.play({}, "--wait");
    for (const args of [
      ["thread", id, "--checkpoint"],
      ["rerun", id, "--from-step", "planner"],
    ]) {
      const { code, stderr } = await store.run(args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/^error: the bundle \w+ is not a step workflow; hint: .*\n$/);
    }
  });
});

describe("rerun", () => {
  test("continues from a step with other values, in a new thread", async () => {
    const id = await ended("one");
    const before = store.tree();
    const printed = await store.json<View>([
      ...[
        "rerun",
        id,
        "--from-step",
        "Write_Out",
        "--set",
        "$note=2",
        "--set",
        '$text="T"',
        "--wait",
      ],
    ]);
    expect(printed).toMatchObject({ status: "completed", forkFrom: { threadId: id, steps: 6 } });
    expect(out()).toBe("T2");
    const { steps } = await read(printed.threadId);
    expect(steps.slice(6).map(({ role }) => role)).toEqual(["__input__", "Write_Out", "Stop_Done"]);
    expect(steps[6]?.meta).toEqual({
      by: terminalUser(),
      for: "rerun",
      stepID: "Write_Out",
      path: [],
      overrides: { $note: "2", $text: "T" },
    });
    for (const [path, bytes] of Object.entries(before)) expect(store.tree()[path]).toBe(bytes);
  });

  test("continues with a fixed workflow", async () => {
    const id = await waiting({ path: "../escape.txt" });
    await store.ok(["resume", id, "--input", "n"]);
    await store.until(id, "failed");
    const fixed = {
      id: "Write_Out",
      target: "/safe.txt",
      value: "=$text + $note",
      next: "Stop_Done",
    };
    await store.ok([
      ...["add", "fixed", write("fixed.json", { ...flow, steps: flow.steps.with(3, fixed) })],
    ]);
    const args = ["rerun", id, "--from-step", "Write_Out", "--on", "fixed", "--wait"];
    expect((await store.run(args)).code).toBe(0);
    expect(out("safe.txt")).toBe("abn");
    expect(await store.run([...args.slice(0, -2), "join@00000", "--wait"])).toMatchObject({
      code: 4,
    });
  });

  test("reports the errors in its arguments", async () => {
    const id = await ended("one");
    const refused = async (...args: string[]) => {
      const { code, stderr } = await store.run(["rerun", id, ...args]);
      return [code, stderr];
    };
    expect(await refused("--from-step", "Set_None")).toEqual([
      4,
      `error: the workflow has no step "Set_None"; hint: name one of the steps: ${flow.steps.map((step) => step.id).join(", ")}\n`,
    ]);
    const from = ["--from-step", "Set_Text"];
    expect(await refused("--from-step", "Set_Text#3")).toEqual([
      4,
      expect.stringContaining("has not run 3 times"),
    ]);
    expect(await refused(...from, "--set", "$none=1")).toEqual([
      4,
      'error: the workflow declares no "$none"; hint: use a declared name: $text, $note, names, path\n',
    ]);
    expect(await refused(...from, "--set", "$text")).toEqual([
      2,
      expect.stringContaining("--set can't be"),
    ]);
    expect(await refused(...from, "--set", "$text={")).toEqual([
      2,
      expect.stringContaining('--set $text:1:2: a "}" is expected'),
    ]);
    expect(await refused()).toEqual([2, expect.stringContaining("--from-step <step>")]);
  });
});
