import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import type {
  AddedWorkflow,
  Failure,
  ForkedThread,
  SavedDocument,
  StartedThread,
  Thread,
} from "../src/entry/api-types.ts";
import { until } from "../../workflow/test/fixtures/until.ts";
import { agent, approval, Drawn, graphOf, start } from "./graph-client.ts";
import { Serving } from "./serving.ts";

setDefaultTimeout(180_000);

let drawn: Drawn;
let serving: Serving;

beforeAll(async () => {
  drawn = await Drawn.start((asked) => ({ text: `<${asked.split("\n").at(-1)}>` }));
  ({ serving } = drawn);
}, 180_000);
afterAll(() => drawn.stop(), 180_000);

const begin = (body: object) => serving.ok<StartedThread>("/api/threads", body);

async function thread(id: string, status: Thread["status"]): Promise<Thread> {
  let seen = await serving.ok<Thread>(`/api/threads/${id}`);
  await until(
    async () => (seen = await serving.ok<Thread>(`/api/threads/${id}`)).status === status,
    () => `${id} is ${seen.status}`,
  );
  return seen;
}

async function save(name: string, text: string): Promise<AddedWorkflow> {
  const response = await serving.fetch(`/api/workflows/${name}?file=${name}.json`, {
    method: "POST",
    body: text,
    headers: { "Content-Type": "application/octet-stream" },
  });
  return (await response.json()) as AddedWorkflow;
}

const savedText = async (version: string): Promise<string> =>
  (await serving.ok<SavedDocument>(`/api/bundles/${version}/document`)).text;

const reviewed = (prompt: string) =>
  graphOf([start(prompt), agent("a"), approval("ok"), agent("b")], "s a", "a ok", "ok approve b");

test("the text of a graph runs without a name, and versions saved before or after keep their own texts", async () => {
  const wide = JSON.stringify(reviewed("tea"), null, 4);
  const draft = await begin({ document: wide, name: "review" });
  const { workflow, hash, prompt, maxRounds } = await thread(draft.threadId, "waiting");
  expect([workflow, prompt, maxRounds]).toEqual(["review", "tea", 1000]);
  expect((await serving.ask("/api/workflows/review")).status).toBe(404);
  expect(await save("review", wide)).toMatchObject({ hash, unchanged: false });
  expect(await savedText("review")).toBe(wide);
  await begin({ document: JSON.stringify(reviewed("tea")), name: "review" });
  expect(await savedText("review")).toBe(wide);
  await begin({ document: JSON.stringify(reviewed("milk")), name: "review" });
  expect(await savedText("review")).toBe(wide);
  const { hash: current } = await serving.ok<{ hash: string }>("/api/workflows/review");
  expect(current).toBe(hash);
});

test("a thread is forked on a changed graph, and keeps its name and its steps", async () => {
  const { threadId } = await begin({ document: JSON.stringify(reviewed("tea")), name: "review" });
  await thread(threadId, "waiting");
  const changed = reviewed("tea");
  changed.nodes[1] = { ...agent("a", { userPrompt: "coffee" }), x: 1, y: 1 };
  const document = JSON.stringify(changed, null, 1);
  const forked = await serving.ok<ForkedThread>(`/api/threads/${threadId}/fork`, {
    document,
    keep: { atStep: 0 },
  });
  const { workflow, steps } = await thread(forked.threadId, "waiting");
  expect(workflow).toBe("review");
  expect(steps.find(({ role }) => role === "a")?.content).toContain("coffee");
  expect(await savedText(forked.hash)).toBe(document);
});

test("a step workflow runs and reruns from its text", async () => {
  const flow = (end: string) =>
    JSON.stringify({
      ...{
        version: "3.18",
        name: "sum",
        registry: { params: ["a(NUMBER)"], vars: ["$s(NUMBER)"] },
      },
      steps: [
        { id: "Set_S", target: "$s", value: "=a + 1", next: "Stop_1" },
        { id: "Stop_1", reason: end },
      ],
    });
  const { threadId } = await begin({ document: flow("=$s"), name: "sum", params: { a: 1 } });
  expect((await thread(threadId, "completed")).result?.summary).toBe("2");
  const { runID } = await serving.ok<{ runID: string }>("/workflow/rerun", {
    document: flow("='it is ' + $s"),
    checkpoint: { threadId, steps: 0 },
    stepID: "Set_S",
    overrides: { a: 4 },
  });
  const again = await thread(runID, "completed");
  expect([again.workflow, again.result?.summary]).toEqual(["sum", "it is 5"]);
  const refused = await serving.ask<Failure>("/api/threads", { document: flow("=$s"), params: {} });
  expect([refused.status, refused.body.error.code]).toEqual([400, "PARAMS_INVALID"]);
});

test.each([
  [{}, "BAD_REQUEST", "either workflow or document"],
  [{ workflow: "a", document: "{}" }, "BAD_REQUEST", "either workflow or document"],
  [{ document: '{"steps": [{"id": 1}]}', name: "../a" }, "STEPS_INVALID", "document.json:1:"],
  [{ document: '{"nodes": [' }, "STEPS_INVALID", "document.json:1:12"],
  [{ document: '{"steps": [{"id": 1}]}', name: "x" }, "STEPS_INVALID", "x.json:1:"],
])("%j is refused with %s, and for a document with the position", async (body, code, message) => {
  const refused = await serving.ask<Failure>("/api/threads", body);
  expect([refused.status, refused.body.error.code]).toEqual([400, code]);
  expect(JSON.stringify(refused.body.error)).toContain(message);
});

test("a graph without the key of its provider is refused before a thread exists", async () => {
  const bare = await Serving.start();
  const body = { document: JSON.stringify(reviewed("tea")) };
  const refused = await bare.ask<Failure>("/api/threads", body);
  expect(refused.body.error.code).toBe("NO_PROVIDER_KEY");
  expect(await bare.ok("/api/threads")).toEqual([]);
});
