import { afterAll, beforeAll, expect, test } from "bun:test";
import type {
  AddedWorkflow,
  Bundle,
  Failure,
  RolledBack,
  RunForm,
  VersionRow,
  Workflow,
  WorkflowRow,
} from "../src/api-types.ts";
import { Serving, stopServing } from "./serving.ts";

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start();
});
afterAll(stopServing, 30_000);

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

test("a source is built and registered, and its versions are told", async () => {
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
  await serving.ok("/api/workflows/greet/rollback", { version: second.hash });
  expect(await serving.ok<Workflow>("/api/workflows/greet")).toMatchObject({ hash: second.hash });
});

test("a version is shown with its descriptor, its form and its texts", async () => {
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

test("what is wrong with a file is told at its line, by the name that it was sent with", async () => {
  const text = 'import "left-pad";\nexport default 1;\nexport const descriptor = 1;\n';
  const { status, code, message, details } = await refused("bad", text, "bad.esm.js");
  expect({ status, code }).toEqual({ status: 409, code: "BUNDLE_REFUSED" });
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

test("a step workflow is checked, built and registered, and its faults are told at their line", async () => {
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

test("a name is removed, and its threads stay", async () => {
  await added("gone", source("gone"), "gone.ts");
  const id = await serving.run("gone");
  await serving.until(id, "completed");
  await serving.ok("/api/workflows/gone", undefined, "DELETE");
  expect((await serving.ask("/api/workflows/gone")).status).toBe(404);
  expect((await serving.ask("/api/workflows/gone", undefined, "DELETE")).status).toBe(404);
  expect((await serving.ask(`/api/threads/${id}`)).status).toBe(200);
});

test("the descriptor, the form and the text of what is not there are not found", async () => {
  for (const path of ["", "/descriptor", "/form", "/source"]) {
    const { status, body } = await serving.ask<Failure>(`/api/bundles/nobody${path}`);
    expect(`${status} ${body.error.code}`).toBe("404 WORKFLOW_NOT_FOUND");
  }
});
