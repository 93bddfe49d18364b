import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type {
  AddedWorkflow,
  Failure,
  SavedDocument,
  Tool,
  Workflow,
} from "../src/entry/api-types.ts";
import { asking } from "./flows.ts";
import { Serving, stopServing } from "./serving.ts";

setDefaultTimeout(180_000);

let serving: Serving;

beforeAll(async () => {
  serving = await Serving.start();
}, 180_000);
afterAll(stopServing, 180_000);

const graph = (prompt: string) => ({
  nodes: [
    { id: "start", type: "start", x: 0, y: 0 },
    { id: "ask", type: "approval", data: { prompt } },
  ],
  connections: [{ source: "start", target: "ask" }],
});

type Answered = AddedWorkflow & Failure;

async function save(name: string, text: string, file: string, expects?: string) {
  const query = new URLSearchParams({ file, ...(expects !== undefined && { expects }) });
  const response = await serving.fetch(`/api/workflows/${name}?${query.toString()}`, {
    method: "POST",
    body: text,
    headers: { "Content-Type": "application/octet-stream" },
  });
  return { status: response.status, body: (await response.json()) as Answered };
}

const documentOf = (version: string) =>
  serving.ok<SavedDocument>(`/api/bundles/${version}/document`);

test("a document is returned byte for byte as first saved, for each version", async () => {
  const odd = `\uFEFF{"connections": [],\r\n\t"nodes": [{"type":"start", "id":"é\u{1F600}",\n "data": {"__proto__": {"a": 1.50}}}]\n}\n\n`;
  const first = await save("drawn", odd, "drawn.json");
  expect(first.status).toBe(200);
  const { hash } = first.body;
  const whole = { workflow: "drawn", hash, kind: "graph", file: "drawn.json", text: odd };
  expect(await documentOf("drawn")).toEqual({ ...whole, kind: "graph", subflows: {} });
  const spaced = odd.replace("\uFEFF", "").replaceAll("\t", "    ");
  expect((await save("drawn", spaced, "drawn.json")).body).toMatchObject({ hash, unchanged: true });
  expect((await documentOf("drawn")).text).toBe(odd);
  await save("drawn", JSON.stringify(graph("why?")), "drawn.json");
  expect((await documentOf("drawn")).text).toBe(JSON.stringify(graph("why?")));
  expect((await documentOf(`drawn@${hash}`)).text).toBe(odd);
});

test("a step workflow is returned with its child workflows, as JSON and as YAML", async () => {
  const { steps: _, ...head } = asking;
  const run = { id: "Subflow_A", in: { workflow_path: "parts/b.json" }, next: "RETURN" };
  const text = `# asks\n${Bun.YAML.stringify({ ...head, steps: [run] })}`;
  const files = { "flow.yaml": text, "parts/b.json": JSON.stringify(asking, null, 3) };
  await serving.ok("/api/workflows/outer?file=flow.yaml", { files });
  const saved = await documentOf("outer");
  expect(saved).toMatchObject({ kind: "steps", file: "flow.yaml", text });
  expect(Object.keys(saved.subflows)).toEqual(["parts/b.json"]);
  expect(JSON.parse(saved.subflows["parts/b.json"] ?? "")).toEqual(asking);
});

test("a bundle built from a program has no document, even if the program imports one", async () => {
  const program = `import graph from "./graph.json";
const agentGraph = { document: JSON.stringify(graph) };
export const descriptor = { description: "d", roles: {}, agentGraph };
export async function* run() { return { returnCode: 0, summary: "" }; }`;
  const files = { "a.ts": program, "graph.json": JSON.stringify(graph("why?")) };
  await serving.ok("/api/workflows/program?file=a.ts", { files });
  const { status, body } = await serving.ask<Failure>("/api/bundles/program/document");
  expect([status, body.error.code]).toEqual([404, "NO_DOCUMENT"]);
});

test("of several concurrent saves based on one version, exactly one succeeds", async () => {
  const none = await Promise.all(
    ["a", "b"].map((one) => save("tabs", JSON.stringify(graph(one)), "tabs.json", "none")),
  );
  expect(none.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409]);
  const { hash } = await serving.ok<Workflow>("/api/workflows/tabs");
  const texts = ["c", "d", "e"].map((one) => JSON.stringify(graph(one)));
  const saved = await Promise.all(texts.map((text) => save("tabs", text, "tabs.json", hash)));
  expect(saved.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409]);
  const won = saved.findIndex(({ status }) => status === 200);
  const lost = saved.find(({ status }) => status === 409);
  expect((await documentOf("tabs")).text).toBe(texts[won] ?? "");
  expect(lost?.body.error).toMatchObject({
    code: "VERSION_CONFLICT",
    message: expect.stringContaining(saved[won]?.body.hash ?? "?") as string,
  });
  const history = await serving.ok<object[]>("/api/workflows/tabs/history");
  expect(history).toHaveLength(2);
  const again = await save("tabs", texts[won] ?? "", "tabs.json", hash);
  expect([again.status, again.body.unchanged]).toEqual([200, true]);
  expect((await save("tabs", "{}", "tabs.json", "short")).status).toBe(400);
});

test("the tools are listed with the schemas of their input", async () => {
  const tools = await serving.ok<Tool[]>("/api/tools");
  expect(tools.map(({ name }) => name)).toEqual([
    ...["readFile", "writeFile", "editFile", "listFiles", "search", "runCommand"],
  ]);
  expect(tools.every(({ timeoutMs }) => timeoutMs > 0)).toBe(true);
  expect(tools[0]?.input).toMatchObject({ type: "object", required: expect.any(Array) as unknown });
});
