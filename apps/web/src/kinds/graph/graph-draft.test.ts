import { afterEach, beforeEach, expect, test } from "bun:test";
import { fewChoices } from "./agent-graph.ts";
import { graphEditing } from "@uncaged/workflow-graph/editing";
import { beginGraph, brokenKey, draftKey } from "./graph-draft.ts";

const { emptyText } = graphEditing(() => fewChoices);
const store = new Map<string, string>();
const storage = {
  getItem: (name: string) => store.get(name) ?? null,
  setItem: (name: string, value: string) => void store.set(name, value),
  removeItem: (name: string) => void store.delete(name),
};
const { fetch: fetchFrom } = globalThis;
let answer: () => Response;
const none = () => Response.json({ error: "there is none" }, { status: 404 });

beforeEach(() => {
  store.clear();
  answer = none;
  Object.assign(globalThis, { fetch: async () => answer(), localStorage: storage });
});
afterEach(() => {
  Object.assign(globalThis, { fetch: fetchFrom });
  Reflect.deleteProperty(globalThis, "localStorage");
});

const graph = { nodes: [{ id: "s", type: "start" }], connections: [] };
const inLines = `${JSON.stringify(graph, null, 2)}\n`;

test("the draft comes first, then the server's default, then a single Start", async () => {
  expect(await beginGraph()).toEqual({ text: emptyText, notices: [] });
  answer = () => Response.json(graph);
  expect(await beginGraph()).toEqual({ text: inLines, notices: [] });
  const text = '{\n "nodes": [{"id":  "mine"}], "connections": []\n}';
  store.set(draftKey, text);
  expect(await beginGraph()).toEqual({ text, notices: [] });
  store.set(draftKey, '{"nodes":[],"connections":[]}');
  expect((await beginGraph()).text).toBe(inLines);
  store.set(draftKey, JSON.stringify(graph));
  expect((await beginGraph()).text).toBe(inLines);
});

test("an invalid draft text is restored", async () => {
  store.set(draftKey, inLines);
  store.set(`${draftKey}-text`, '{ "nodes": [');
  expect(await beginGraph()).toEqual({ text: '{ "nodes": [', notices: [] });
});

test("an invalid stored graph is set aside and reported", async () => {
  const wrong: [string, string][] = [
    ["{", "Invalid JSON"],
    ['{"version":"1","steps":[]}', "it is a step workflow"],
    ['{"nodes":[]}', "nodes and connections must be lists."],
    ['{"nodes":[1],"connections":[]}', "a node has no id."],
    ["5", "it is a number."],
    ['{"theme":"dark"}', "it is an object without nodes and connections."],
  ];
  for (const [text, reason] of wrong) {
    store.set(draftKey, text);
    const { text: begun, notices } = await beginGraph();
    expect(begun).toBe(emptyText);
    expect(notices).toHaveLength(1);
    expect(notices[0]).toContain(reason);
    expect([store.get(brokenKey), store.has(draftKey)]).toEqual([text, false]);
  }
});

test("an invalid default, a full storage and a disabled storage are reported", async () => {
  answer = () => Response.json({ error: "it has no nodes" }, { status: 400 });
  expect((await beginGraph()).notices).toEqual([
    "The server's default graph can't be read: it has no nodes",
  ]);
  answer = () => Response.json({ theme: 1 });
  expect((await beginGraph()).notices[0]).toContain("without nodes");
  answer = none;
  store.set(draftKey, "{");
  const full = () => {
    throw new Error("full");
  };
  Object.assign(globalThis, { localStorage: { ...storage, setItem: full } });
  expect((await beginGraph()).notices[1]).toBe("It could not be stored: {");
  Object.assign(globalThis, { localStorage: { getItem: full } });
  expect(await beginGraph()).toEqual({
    text: emptyText,
    notices: ["This browser stores nothing: save the graph before you leave the page."],
  });
});
