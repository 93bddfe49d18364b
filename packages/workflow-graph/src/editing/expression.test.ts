import { expect, test } from "bun:test";
import { expressionOf } from "./expression.ts";

const document = {
  nodes: [
    { id: "a", type: "agent" },
    { id: "ok", type: "approval" },
    { id: "b", type: "agent" },
  ],
  connections: [
    { source: "a", target: "ok" },
    { source: "ok", target: "b", sourceHandle: "approve" },
  ],
};

test.each([
  [{ node: "b", part: "input", path: "input" }, "b", "{{PREVIOUS_OUTPUT}}"],
  [{ node: "a", part: "output", path: "output.x" }, "ok", "{{PREVIOUS_OUTPUT}}"],
  [{ node: "a", part: "output", path: "output" }, "b", null],
  [{ node: "ok", part: "output", path: "note" }, "b", "{{APPROVAL_NOTE}}"],
  [{ node: "ok", part: "output", path: "decision" }, "b", "{{APPROVAL_DECISION}}"],
  [{ node: "ok", part: "output", path: "by" }, "b", null],
  [{ node: "a", part: "input", path: "input" }, "b", null],
] as const)("%j in a field of %s is %p", (value, field, expression) => {
  expect(expressionOf(document, value, field)).toBe(expression);
});
