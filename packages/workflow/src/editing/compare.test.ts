import { expect, test } from "bun:test";
import { compare } from "./compare.ts";

type Boxes = {
  boxes: { id: string; name: string; x: number; y: number }[];
  lines: { from: string; to: string }[];
};

const boxes = {
  read(document: unknown) {
    const all = document as Boxes;
    return {
      nodes: all.boxes.map(({ id, name, x, y }) => ({
        ...{ id, title: name, type: "box", at: { x, y }, lines: [], ports: [], path: [] },
        ...{ parent: null, isContainer: false, isFixed: false },
      })),
      edges: all.lines.map(({ from, to }) => ({
        ...{ id: `${from}-${to}`, source: from, sourcePort: "out", target: to, targetPort: "in" },
        ...{ label: null, look: "next" as const, path: [] },
      })),
    };
  },
  form: () => null,
};

const box = (id: string, name: string, x = 0) => ({ id, name, x, y: 0 });

test("two versions differ by the content of their nodes and by their lines, not by positions", () => {
  const before = {
    boxes: [box("a", "A"), box("b", "B"), box("c", "C")],
    lines: [
      { from: "a", to: "b" },
      { from: "b", to: "c" },
    ],
  };
  const after = {
    boxes: [box("d", "D"), box("a", "A", 500), box("b", "Other")],
    lines: [{ from: "a", to: "b" }],
  };
  const { before: old, after: now } = compare(boxes, before, after);
  expect([...old.nodes]).toEqual([
    ["b", "changed"],
    ["c", "removed"],
  ]);
  expect([...now.nodes]).toEqual([
    ["d", "added"],
    ["b", "changed"],
  ]);
  expect([...old.edges]).toEqual([["b-c", "removed"]]);
  expect(now.edges.size).toBe(0);
});
