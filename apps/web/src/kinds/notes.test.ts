import { describe, expect, test } from "bun:test";
import { scriptedProvider } from "@uncaged/workflow-agents";
import { checkGraph } from "@uncaged/workflow-graph/document";
import { graphBundle } from "@uncaged/workflow-graph";
import { checkSchema, modelAgents } from "@uncaged/workflow-graph/agents";
import { validate } from "@uncaged/workflow-steps/document";
import { runThread } from "@uncaged/workflow/testing";
import { agentGraphKind, graphTemplates } from "./graph/agent-graph.ts";
import { stepsKind, stepTemplates } from "./steps/kind.ts";
import { EditedDocument } from "../editor/document/document.ts";
import type { DocumentKind } from "../editor/kind.ts";

const graphKind = agentGraphKind(() => ({ models: [], reasoningEfforts: [], tools: [] }));
const kinds: [string, DocumentKind][] = [
  ["a graph", graphKind],
  ["a step workflow", stepsKind([])],
];

type WithNotes = { notes?: { id: string; text: string; x: number; y: number }[] };

const notesOf = (document: EditedDocument) => (document.state().value as WithNotes).notes;

describe.each(kinds)("a note of %s", (_, kind) => {
  const withNote = () => {
    const document = new EditedDocument(kind);
    document.apply(kind.add(document.state().value, "note", { x: 10, y: 20 }, null));
    return document;
  };

  test("is added, moved, edited and deleted, and each is undone", () => {
    const document = withNote();
    expect(notesOf(document)).toEqual([{ id: "note-1", text: "", x: 10, y: 20 }]);
    expect([...document.state().selection.nodes]).toEqual(["note:note-1"]);
    const form = kind.form(document.state().value, "note:note-1");
    const path = [...(form?.path ?? []), "text"];
    document.apply({ label: "Edit", changes: [{ path, value: "Read me\nfirst" }] });
    const drawn = document.state().drawing.nodes.find(({ id }) => id === "note:note-1");
    expect(drawn).toMatchObject({ lines: ["Read me", "first"], at: { x: 10, y: 20 } });
    const to = { id: "note:note-1", at: { x: 30.4, y: 20 }, parent: null };
    document.apply(kind.move?.(document.state().value, [to]) ?? null);
    expect(notesOf(document)).toMatchObject([{ text: "Read me\nfirst", x: 30 }]);
    document.apply(kind.remove(document.state().value, ["note:note-1"], []));
    expect(notesOf(document)).toEqual([]);
    for (let undone = 0; undone < 4; undone += 1) document.undo();
    expect(document.state().text).toBe(document.state().saved);
    document.close();
  });

  test("is copied and pasted, also beside other nodes", () => {
    const document = withNote();
    const { value } = document.state();
    const fragment = kind.copy(value, ["note:note-1"]);
    document.apply(kind.paste(value, fragment, { x: 100, y: 100 }, null));
    expect(notesOf(document)?.map(({ id, x }) => [id, x])).toEqual([
      ["note-1", 10],
      ["note-2", 100],
    ]);
    const [type = ""] = kind.palette.map((item) => item.type);
    document.apply(kind.add(document.state().value, type, { x: 0, y: 0 }, null));
    const [node = ""] = document.state().selection.nodes;
    const both = kind.copy(document.state().value, [node, "note:note-2"]);
    const before = document.state().drawing.nodes.length;
    document.apply(kind.paste(document.state().value, both, { x: 5, y: 5 }, null));
    expect(document.state().drawing.nodes).toHaveLength(before + 2);
    document.close();
  });

  test("survives an export and an import, and passes the check of the document", () => {
    const document = withNote();
    const again = new EditedDocument(kind, document.state().text);
    expect(notesOf(again)).toEqual(notesOf(document));
    const without = kind.check(JSON.parse(kind.emptyText));
    expect(kind.check(again.state().value)).toEqual(without);
    document.close();
    again.close();
  });
});

describe("the templates", () => {
  test.each(graphTemplates.map((one) => [one.label, one] as const))(
    "%s is valid, and runs with a scripted model, with and without notes",
    async (_, { load }) => {
      const document = (await load()).default as Parameters<typeof graphBundle>[0];
      expect(checkGraph(document)).toEqual({ errors: [], warnings: [] });
      const provider = scriptedProvider({
        "You sort requests": ['{"kind":"billing","request":"the invoice"}'],
        "You sum up": ["PUBLISH"],
        You: ["done"],
      });
      const agents = modelAgents({ models: [{ name: "script", provider, serves: () => true }] });
      const rolesWith = async (more: object) => {
        const { run } = graphBundle({ ...document, ...more }, { agents, schemas: checkSchema });
        const { status, steps } = await runThread(run, {
          prompt: "hello",
          answers: ["approve", "approve"],
        });
        expect(["completed", "waiting"]).toContain(status);
        return steps.map(({ role, content }) => `${role}: ${content}`);
      };
      const notes = [{ id: "n", text: "Read me", x: 0, y: 0 }];
      const roles = await rolesWith({});
      expect(roles.length).toBeGreaterThan(3);
      expect(await rolesWith({ notes })).toEqual(roles);
    },
  );

  test.each(stepTemplates.map((one) => [one.label, one] as const))(
    "%s is valid",
    async (_, one) => {
      const document = (await one.load()).default;
      expect(validate(document).filter(({ severity }) => severity === "error")).toEqual([]);
    },
  );
});
