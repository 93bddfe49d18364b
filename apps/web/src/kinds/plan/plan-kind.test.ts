import { expect, test } from "bun:test";
import { EditedDocument } from "../../editor/document/document.ts";
import { planKind } from "./plan-kind.ts";

const step = (id: string, ...depends_on: string[]) => ({
  ...{ id, description: `do ${id}`, agent: "claude", inputs: {}, depends_on },
});

const open = (...steps: object[]) =>
  new EditedDocument(planKind, JSON.stringify({ name: "p", steps }, null, 2));

const drawn = (document: EditedDocument) => {
  const { nodes, edges } = document.state().drawing;
  return [nodes.map(({ id }) => id), edges.map(({ source, target }) => `${source} ${target}`)];
};

test("a plan is drawn, steps are added, connected and deleted, and all edits are undone", () => {
  const document = open(step("look"), step("report", "look"));
  const { text } = document.state();
  const value = () => document.state().value;
  const at = (node: string, port: string) => ({ node, port });
  expect(drawn(document)).toEqual([["look", "report"], ["look report"]]);
  document.apply(planKind.add(value(), "step", { x: 0, y: 0 }, null));
  document.apply(planKind.connect(value(), at("look", "out"), at("step-1", "in")));
  expect(drawn(document)).toEqual([
    ["look", "report", "step-1"],
    ["look report", "look step-1"],
  ]);
  expect(planKind.connect(value(), at("step-1", "out"), at("look", "in"))).toMatchObject({
    refused: expect.stringContaining("cycle"),
  });
  document.apply(planKind.paste(value(), planKind.copy(value(), ["look", "report"]), at0, null));
  expect(drawn(document)[1]).toContain("step-2 step-3");
  document.apply(planKind.remove(value(), ["look"], []));
  expect(drawn(document)).toEqual([["report", "step-1", "step-2", "step-3"], ["step-2 step-3"]]);
  for (let times = 0; times < 4; times += 1) document.undo();
  expect(document.state().text).toBe(text);
  document.close();
});

const at0 = { x: 0, y: 0 };

test("the valid parts of any document are drawn", async () => {
  for (const odd of [null, [], "x", { steps: 1 }, { steps: [null, { id: 1 }, { id: "a" }] }]) {
    const { nodes } = planKind.read(odd);
    expect(nodes.length).toBe(isRecordWithA(odd) ? 1 : 0);
  }
  const lost = { steps: [step("a", "gone")] };
  expect(planKind.check(lost)).toMatchObject([{ path: ["steps", 0, "depends_on", 0] }]);
});

const isRecordWithA = (odd: unknown): boolean => JSON.stringify(odd).includes('"a"');
