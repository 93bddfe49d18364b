import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type {
  AddedWorkflow,
  Bundle,
  Failure,
  RolledBack,
  RunForm,
  VersionRow,
  Workflow,
  WorkflowRow,
} from "../src/entry/api-types.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start();
});
afterAll(stopServing, 180_000);

const source = (description: string) => `type Input = { prompt: string };
export const descriptor = {
  description: "${description}",
  input: { type: "object", properties: { files: { type: "array" } } },
  roles: { greeter: { description: "greets", schema: true } },
};
export async function* run({ prompt }: Input) {
  yield { role: "greeter", content: prompt, meta: {} };
  return { returnCode: 0, summary: "" };
}
`;

const added = async (name: string, text: string, file: string): Promise<AddedWorkflow> =>
  (await (await serving.add(name, text, file)).json()) as AddedWorkflow;

async function refused(name: string, text: string, file: string) {
  const response = await serving.add(name, text, file);
  return { status: response.status, ...((await response.json()) as Failure).error };
}

test("a source is built and registered, and its versions are listed", async () => {
  const first = await added("greet", source("one"), "greet.ts");
  const second = await added("greet", source("two"), "greet.ts");
  expect(second).toMatchObject({ name: "greet", unchanged: false });
  expect(await added("greet", source("two"), "greet.ts")).toEqual({ ...second, unchanged: true });

  const rows = await serving.ok<WorkflowRow[]>("/api/workflows");
  expect(rows).toMatchObject([
    { name: "greet", hash: second.hash, description: "two", versions: 2 },
  ]);
  const whole = await serving.ok<Workflow>("/api/workflows/greet");
  expect(whole.history.map(({ hash }) => hash)).toEqual([first.hash]);
  expect(whole.descriptor?.roles.greeter?.description).toBe("greets");

  const back = await serving.ok<RolledBack>("/api/workflows/greet/rollback", {});
  expect(back).toEqual({ name: "greet", hash: first.hash, previous: second.hash });
  const history = await serving.ok<VersionRow[]>("/api/workflows/greet/history");
  expect(history.map(({ hash, current }) => [hash, current])).toEqual([
    [second.hash, false],
    [first.hash, true],
  ]);
  expect(await serving.ok("/api/workflows/greet/check", { version: second.hash })).toEqual({
    ...{ hash: second.hash, checked: 0, continues: 0, diverges: 0, waits: 0, ended: 0 },
    threads: [],
  });
  await serving.ok("/api/workflows/greet/rollback", { version: second.hash });
  expect(await serving.ok<Workflow>("/api/workflows/greet")).toMatchObject({ hash: second.hash });
});

test("a version is shown with its descriptor, its schema and its texts", async () => {
  const { hash } = await added("shown", source("shown"), "shown.ts");
  const bundle = await serving.ok<Bundle>("/api/bundles/shown");
  expect(bundle).toMatchObject({ workflow: "shown", hash, descriptor: { description: "shown" } });
  const byHash = await serving.ok<Bundle>(`/api/bundles/${hash}`);
  expect(byHash.bytes).toBe(bundle.bytes);
  expect(await serving.ok<RunForm>(`/api/bundles/shown@${hash.slice(0, 6)}/form`)).toMatchObject({
    description: "shown",
    input: { type: "object" },
  });
  const built = await (await serving.fetch("/api/bundles/shown/source")).text();
  expect(built).toContain("greeter");
  const [file = ""] = bundle.sources;
  const query = new URLSearchParams({ file }).toString();
  const response = await serving.fetch(`/api/bundles/shown/source?${query}`);
  expect(await response.text()).toBe(source("shown"));
  expect(response.headers.get("content-type")).toMatch(/^text\/plain/);
  expect((await serving.ask("/api/bundles/shown/source?file=x")).status).toBe(404);
});

test("an error names the line and the file as the client sent it", async () => {
  const text = 'import "left-pad";\nexport default 1;\nexport const descriptor = 1;\n';
  const { status, code, message, details } = await refused("bad", text, "bad.esm.js");
  expect({ status, code }).toEqual({ status: 400, code: "BUNDLE_REFUSED" });
  expect(message).toMatch(/^bad\.esm\.js:1:\d+/);
  expect(details?.every((line) => line.startsWith("bad.esm.js:"))).toBe(true);
  expect(details?.length).toBeGreaterThan(1);

  const broken = await refused("bad", "export const x: = 1;", "bad.ts");
  expect(broken.message).toMatch(/bad\.ts:1:/);
  expect(JSON.stringify(broken)).not.toContain("uncaged-upload");
  expect((await refused("bad", "text", "notes.txt")).status).toBe(400);
  expect((await refused("bad", "", "bad.ts")).status).toBeGreaterThanOrEqual(400);
  expect((await refused("-bad", source("x"), "bad.ts")).code).toBe("BAD_NAME");
  expect((await serving.ask("/api/workflows/bad")).status).toBe(404);
});

test("a step workflow is checked, built and registered, and its errors name their lines", async () => {
  const steps = (next: string) =>
    JSON.stringify(
      {
        version: "3.18",
        name: "flow",
        registry: { params: ["goal(STRING)", "tries(INT) = 3"], vars: ["$x(INT) = 0"] },
        steps: [
          { id: "Set_X", out: { $x: 1 }, next },
          { id: "Stop_End", reason: "done" },
        ],
      },
      null,
      2,
    );
  const good = await added("flow", steps("Stop_End"), "flow.json");
  expect(good).toMatchObject({ name: "flow", unchanged: false });
  expect(
    Object.keys((await serving.ok<Bundle>("/api/bundles/flow")).descriptor?.roles ?? {}),
  ).toEqual(["Set_X", "Stop_End"]);
  expect((await serving.ok<RunForm>("/api/bundles/flow/form")).input).toMatchObject({
    properties: { goal: { type: "string" }, tries: { type: "integer", default: 3 } },
    required: ["goal"],
  });
  const bad = await refused("flow", steps("Stop_Nowhere"), "flow.json");
  expect(bad.code).toBe("STEPS_INVALID");
  expect(bad.message).toMatch(/^flow\.json:\d+:\d+/);
});

describe("files in one request", () => {
  const flow = `import { greeting } from "./lib/greeting.ts";\n${source("whole")}`.replace(
    "content: prompt",
    "content: greeting + prompt",
  );
  const greeting = 'import { word } from "../word.ts";\nexport const greeting = `${word}, `;\n';
  const whole = {
    "flow.ts": flow,
    "lib/greeting.ts": greeting,
    "word.ts": 'export const word = "Hi";',
  };

  const send = async (file: string, body: unknown, name = "whole") => {
    const path = `/api/workflows/${name}?file=${encodeURIComponent(file)}`;
    const { status, body: answer } = await serving.ask<AddedWorkflow & Failure>(path, body);
    return { status, ...answer, ...answer.error };
  };

  test("are built into one bundle and are its sources", async () => {
    expect(await send("flow.ts", { files: whole })).toMatchObject({ status: 200, name: "whole" });
    const { sources } = await serving.ok<Bundle>("/api/bundles/whole");
    expect(sources.toSorted()).toEqual(["flow.ts", "lib/greeting.ts", "word.ts"]);
    const id = await serving.run("whole");
    const { last } = await serving.until(id, "completed");
    expect(last?.content).toStartWith("Hi, ");
  });

  test("can be in folders, and are built to the same version at any path", async () => {
    const { hash } = await send("flow.ts", { files: whole });
    const moved = Object.fromEntries(
      Object.entries(whole).map(([path, text]) => [`my flows/${path}`, text]),
    );
    expect(await send("my flows/flow.ts", { files: moved })).toMatchObject({
      hash,
      unchanged: true,
    });
  });

  test("keep the client's names in errors, even for an imported file", async () => {
    const broken = { ...whole, "lib/greeting.ts": "export const greeting = 1;\nconst const;\n" };
    const answer = await send("flow.ts", { files: broken });
    expect({ status: answer.status, code: answer.code }).toEqual({
      status: 400,
      code: "BUILD_FAILED",
    });
    expect(answer.message).toMatch(/^lib\/greeting\.ts:2:\d+: /);
    const inFolder = { "a/flow.ts": flow.replace("./lib", "../lib"), "lib/greeting.ts": "x y" };
    expect((await send("a/flow.ts", { files: inFolder })).message).toMatch(
      /^lib\/greeting\.ts:1:3: /,
    );
    const throwing = { ...whole, "word.ts": 'export const word = "a";\nthrow new Error("early");' };
    expect((await send("flow.ts", { files: throwing })).message).toMatch(/^word\.ts:2:\d+: early/);
    const fetching = {
      ...whole,
      "word.ts": 'import ky from "https://x.test/";\nexport const word = ky;',
    };
    expect((await send("flow.ts", { files: fetching })).message).toMatch(/^word\.ts:1:\d+: /);
    expect((await serving.ask("/api/workflows/broken")).status).toBe(404);
  });

  test("must include the imported files", async () => {
    const { "word.ts": _, ...rest } = whole;
    const answer = await send("flow.ts", { files: rest });
    expect(answer.message).toMatch(/^lib\/greeting\.ts:1:\d+: .*"\.\.\/word\.ts"/);
    expect(answer.hint).toContain("add the imported files");
    expect(JSON.stringify(answer)).not.toContain("uncaged-upload");
  });

  test("can be step workflows that run other step workflows", async () => {
    const steps = (...all: object[]) =>
      JSON.stringify({ version: "3.18", name: "flow", registry: {}, steps: all }, null, 2);
    const files = {
      "main.json": steps(
        { id: "Subflow_Child", in: { workflow_path: "parts/child.json" }, next: "Stop_End" },
        { id: "Stop_End" },
      ),
      "parts/child.json": steps({ id: "Stop_End" }),
    };
    expect(await send("main.json", { files }, "steps")).toMatchObject({ status: 200 });
    const broken = { ...files, "parts/child.json": steps({ id: "Stop_End", next: "Stop_None" }) };
    expect((await send("main.json", { files: broken }, "steps")).message).toMatch(
      /^parts\/child\.json:\d+:\d+: /,
    );
    const alone = { "main.json": files["main.json"] };
    expect((await send("main.json", { files: alone }, "steps")).code).toBe("SUBFLOW_MISSING");
  });

  test.each([
    "../flow.ts",
    "/flow.ts",
    "a//flow.ts",
    "a\\flow.ts",
    "a\0.ts",
    "node_modules/a/flow.ts",
    "a\u202eb.ts",
  ])("can't be named %j, alone or with other files", async (path) => {
    const badName = { status: 400, code: "BAD_FILE_NAME" };
    expect(await send(path, { files: { [path]: flow } })).toMatchObject(badName);
    expect(await send("flow.ts", { files: { ...whole, [path]: "" } })).toMatchObject(badName);
  });

  test("need names that are short enough for a disk", async () => {
    for (const path of [
      `${"a".repeat(256)}.ts`,
      `${"ü".repeat(130)}.ts`,
      `${"a/".repeat(256)}a.ts`,
    ]) {
      const answer = await send("flow.ts", { files: { ...whole, [path]: "" } });
      expect(answer).toMatchObject({ status: 400, code: "BAD_FILE_NAME" });
    }
    const longest = `${"ü".repeat(126)}.ts`;
    expect(await send("flow.ts", { files: { ...whole, [longest]: "" } })).toMatchObject({
      status: 200,
    });
  });

  test("have distinct names, and include the workflow's file", async () => {
    const codes = async (file: string, files: unknown) => {
      const { status, code } = await send(file, { files });
      return `${status} ${code}`;
    };
    expect(await codes("flow.ts", { ...whole, "Flow.ts": "" })).toBe("400 BAD_FILE_NAME");
    expect(await codes("flow.ts", { ...whole, "word.ts/a.ts": "" })).toBe("400 BAD_FILE_NAME");
    expect(await codes("other.ts", whole)).toBe("400 FILE_NOT_SENT");
    expect(await codes("flow.ts", {})).toBe("400 FILE_NOT_SENT");
    expect(await codes("flow.ts", { "flow.ts": 1 })).toBe("400 BAD_REQUEST");
    expect(await codes("flow.ts", ["flow.ts"])).toBe("400 BAD_REQUEST");
    expect(await codes("flow.ts", undefined)).toBe("400 BAD_REQUEST");
    expect(await codes("word.txt", { "word.txt": "hi" })).toBe("400 NOT_A_BUNDLE");
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${n}.ts`, ""]));
    expect(await codes("flow.ts", { ...many, ...whole })).toBe("400 TOO_MANY_FILES");
  });

  test("must be JSON of at most 32 MiB", async () => {
    const post = (body: string) =>
      serving.fetch("/api/workflows/whole?file=flow.ts", {
        method: "POST",
        body,
        headers: { "Content-Type": "application/json" },
      });
    const broken = await post('{"files": {');
    expect(((await broken.json()) as Failure).error.code).toBe("BAD_JSON");
    const text = (length: number) =>
      JSON.stringify({ files: { ...whole, "a.txt": "x".repeat(length) } });
    expect((await post(text(8 << 20))).status).toBe(200);
    expect((await post(text(32 << 20))).status).toBe(413);
  });
});

test("a name is removed, and its threads stay", async () => {
  await added("gone", source("gone"), "gone.ts");
  const id = await serving.run("gone");
  await serving.until(id, "completed");
  await serving.ok("/api/workflows/gone", undefined, "DELETE");
  expect((await serving.ask("/api/workflows/gone")).status).toBe(404);
  expect((await serving.ask("/api/workflows/gone", undefined, "DELETE")).status).toBe(404);
  expect((await serving.ask(`/api/threads/${id}`)).status).toBe(200);
});

test("saving and running a version change no stored data of another version", async () => {
  const graph = (prompt: string) =>
    JSON.stringify({
      nodes: [
        { id: "s", type: "start" },
        { id: "ask", type: "approval", data: { prompt } },
      ],
      connections: [{ source: "s", target: "ask" }],
    });
  const first = await added("asks", graph("One?"), "asks.json");
  const stored = async () => {
    const bundle = await serving.ok<Bundle>(`/api/bundles/${first.hash}`);
    const queries = [
      "",
      ...bundle.sources.map((file) => `?${new URLSearchParams({ file }).toString()}`),
    ];
    const texts = queries.map(async (query) =>
      (await serving.fetch(`/api/bundles/${first.hash}/source${query}`)).text(),
    );
    return { bundle, texts: await Promise.all(texts) };
  };
  const before = await stored();
  expect(before.texts.at(-1)).toContain("One?");
  const second = await added("asks", graph("Two?"), "asks.json");
  expect(second.hash).not.toBe(first.hash);
  const run = { graph: JSON.parse(graph("Three?")) as object };
  expect((await serving.ask("/api/run", run)).status).toBe(200);
  await serving.until(await serving.run("asks", { prompt: "hello" }), "waiting");
  expect(await stored()).toEqual(before);
});

test("the descriptor, the schema and the text of a missing version are not found", async () => {
  for (const path of ["", "/descriptor", "/form", "/source"]) {
    const { status, body } = await serving.ask<Failure>(`/api/bundles/nobody${path}`);
    expect(`${status} ${body.error.code}`).toBe("404 WORKFLOW_NOT_FOUND");
  }
});
