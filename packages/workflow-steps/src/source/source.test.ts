import { describe, expect, test } from "bun:test";
import { errorOf } from "../../test/error-of.ts";
import { everyType } from "../../test/every-type.ts";
import type { WorkflowDocument } from "../document/format.ts";
import { checkedDocument, gather } from "./source.ts";

describe("a checked document", () => {
  test("has the document and its warnings, each with its position", () => {
    const text = JSON.stringify(everyType, null, 2).replace('"3.18"', '"3.16"');
    const lineOf = (id: string) =>
      text.slice(0, text.indexOf(`"id": "${id}"`)).split("\n").length - 1;
    const { document, warnings } = checkedDocument(text, "flow.json");
    expect(document.name).toBe("every type");
    expect(warnings).toEqual([
      `flow.json:${lineOf("Tool_010_ReadFile")}:5: Tool_010_ReadFile: a Tool needs version 3.17, but the workflow has version 3.16`,
      `flow.json:${lineOf("Subflow_Child")}:5: Subflow_Child: a Subflow needs version 3.17, but the workflow has version 3.16`,
    ]);
  });

  test("throws all errors, with the first as the message", () => {
    const text = 'version: 3.16\nname: a\nregistry: {}\nsteps:\n  - id: Set_A\n    target: "$x"\n';
    const error = errorOf(() => checkedDocument(text, "flow.yaml"));
    expect(error).toMatchObject({ code: "STEPS_INVALID", kind: "failed" });
    expect(error.message).toBe(
      'flow.yaml:1:10: version must be a string such as "3.18", not 3.16 (and 1 more)',
    );
    expect(error.details).toEqual([
      'flow.yaml:1:10: version must be a string such as "3.18", not 3.16',
      'flow.yaml:6:13: Set_A: target: "$x" is not declared in registry.vars',
    ]);
  });

  test("may have the step types of the caller's handlers", () => {
    const text = JSON.stringify({ ...everyType, steps: [{ id: "Mail_A", next: "RETURN" }] });
    expect(checkedDocument(text, "f.json", { customTypes: ["Mail"] }).warnings).toEqual([
      expect.stringContaining("no Stop found"),
    ]);
  });

  test.each(["3", "[]", '{"name": "a"}', "null"])(
    "refuses other JSON: the hint for %s lists the fields of a step workflow",
    (text) => {
      const { message, hint } = errorOf(() => checkedDocument(text, "p.json"));
      expect(message).toBe("p.json:1:1: not a step workflow: missing version and steps");
      expect(hint).toBe(
        'a step workflow has "version" ("3.0" to "3.18"), "name", "registry" and an array "steps"; an agent graph has arrays "nodes" and "connections"',
      );
    },
  );

  test.each(['{"version": "4.0", "steps": []}', '{"version": "3.1", "steps": {}}'])(
    "refuses a document without a version 3.* or an array of steps: %s",
    (text) => {
      expect(errorOf(() => checkedDocument(text, "p.json")).hint).toStartWith(
        "a step workflow has",
      );
    },
  );
});

/** Returns a document that runs these paths, one in each step. */
const running = (...paths: string[]): WorkflowDocument => ({
  version: "3.18",
  name: "w",
  registry: {},
  steps: paths.map((path, at) => ({ id: `Subflow_${at}`, in: { workflow_path: path } })),
});

async function gathered(documents: Record<string, WorkflowDocument>, file = "flow.json") {
  const read: string[] = [];
  const { document, subflows } = await gather(
    documents[file] as WorkflowDocument,
    `/some/where/${file}`,
    async (path, step, by) => {
      read.push(`${by} ${step} ${path}`);
      const found = documents[path];
      if (!found) throw new Error(`no ${path}`);
      return found;
    },
  );
  const pathsOf = ({ steps }: WorkflowDocument) => steps.map((step) => step.in?.workflow_path);
  return {
    read,
    paths: pathsOf(document),
    subflows: Object.fromEntries([...subflows].map(([path, one]) => [path, pathsOf(one)])),
  };
}

const refusal = (promise: Promise<unknown>): Promise<string> =>
  promise.then(
    () => "none",
    (error: Error) => error.message,
  );

describe("the workflows that a document runs", () => {
  test("are named by their path from its folder, and each is read once", async () => {
    const found = await gathered({
      "flow.json": running("./parts/a.json", "='parts/' + 'b.json'", "parts/a.json"),
      "parts/a.json": running("b.json", "/c.json"),
      "parts/b.json": running(),
      "c.json": running("parts/b.json"),
    });
    expect(found.paths).toEqual(["parts/a.json", "parts/b.json", "parts/a.json"]);
    expect(found.subflows).toEqual({
      "c.json": ["parts/b.json"],
      "parts/a.json": ["parts/b.json", "c.json"],
      "parts/b.json": [],
    });
    expect(found.read.toSorted()).toEqual([
      "flow.json Subflow_0 parts/a.json",
      "parts/a.json Subflow_0 parts/b.json",
      "parts/a.json Subflow_1 c.json",
    ]);
  });

  test("are read at run time if their path is computed", async () => {
    const { paths, subflows } = await gathered({
      "flow.json": running("=$path", "='a' + _item", "=1 / 0", "= (", "=3"),
    });
    expect(paths).toEqual(["=$path", "='a' + _item", "=1 / 0", "= (", "=3"]);
    expect(subflows).toEqual({});
  });

  test("can be run by a tool named WorkflowRun", async () => {
    const path = { workflow_path: "a.json" };
    const steps = [
      { id: "Tool_010_WorkflowRun", in: path },
      { id: "Tool_Other", tool: "WorkflowRun", input: path },
      { id: "Tool_WorkflowRun", tool: "Else", in: { workflow_path: "none.json" } },
      { id: "LLM_A", in: { workflow_path: "none.json" } },
    ];
    const { subflows } = await gathered({
      "flow.json": { ...running(), steps },
      "a.json": running(),
    });
    expect(Object.keys(subflows)).toEqual(["a.json"]);
  });

  test("can't run themselves, and the error names the cycle", async () => {
    const documents = { "flow.json": running("a.json"), "a.json": running("./flow.json") };
    expect(await refusal(gathered(documents))).toContain(
      "flow.json runs a.json runs flow.json: a workflow can't run itself",
    );
  });

  test("can be nested eight levels deep, but no deeper", async () => {
    const chain = (length: number) =>
      Object.fromEntries(
        Array.from({ length: length + 1 }, (_, n) => [
          n === 0 ? "flow.json" : `${n}.json`,
          n === length ? running() : running(`${n + 1}.json`, `${Math.min(n + 2, length)}.json`),
        ]),
      );
    expect(Object.keys((await gathered(chain(8))).subflows)).toHaveLength(8);
    expect(await refusal(gathered(chain(9)))).toContain("more than 8 levels deep");
    const late = {
      ...chain(8),
      "flow.json": running("2.json", "0.json"),
      "0.json": running("1.json"),
    };
    expect(await refusal(gathered(late))).toContain("more than 8 levels deep");
  });

  test("are each read only once, however many steps run them", async () => {
    const wide = Object.fromEntries(
      Array.from({ length: 9 }, (_, n) => [
        n === 0 ? "flow.json" : `${n}.json`,
        n === 8 ? running() : running(...Array(100).fill(`${n + 1}.json`)),
      ]),
    );
    expect((await gathered(wide)).read).toHaveLength(8);
  });
});
