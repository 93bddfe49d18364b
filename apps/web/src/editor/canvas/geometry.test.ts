import type { DrawnNode, Point } from "@uncaged/workflow/editing";
import { describe, expect, test } from "bun:test";
import { containerAt, inset, leadOf, overlaps, rowsOf, settled, sizeOf } from "./geometry.ts";
import { layoutOf, rectsOf } from "../../ui/layout.ts";
import { viewOf, zoomStep } from "./view.ts";

const node = (id: string, parent: string | null = null, isContainer = false): DrawnNode => ({
  id,
  type: "box",
  title: id,
  lines: [],
  at: null,
  parent,
  isContainer,
  isFixed: false,
  ports: [],
  path: [],
});

const laidOut = (nodes: DrawnNode[], edges: [string, string][]): Map<string, Point> =>
  new Map(
    layoutOf({
      nodes: nodes.map((one) => ({ ...one, size: sizeOf(one), lead: leadOf(one) })),
      edges: edges.map(([source, target]) => ({ source, target })),
      ...{ isWide: true, gap: { node: 48, rank: 90 }, inset },
    }).boxes,
  );

describe("the layout", () => {
  test("places successors to the right, and a container around its content", () => {
    const nodes = [
      node("a"),
      node("loop", null, true),
      node("also", "loop"),
      node("inner", "loop"),
    ];
    const placed = laidOut(nodes, [
      ["a", "inner"],
      ["inner", "also"],
    ]);
    const rects = rectsOf(nodes, placed, settled({ nodes, edges: [] }, placed).sizes);
    const rectFor = (id: string) => rects.get(id) ?? { x: 0, y: 0, width: 0, height: 0 };
    expect(rectFor("loop").x).toBeGreaterThan(rectFor("a").x + rectFor("a").width);
    expect(rectFor("inner").x).toBeGreaterThan(rectFor("loop").x);
    expect(rectFor("also").x + rectFor("also").width).toBeLessThan(
      rectFor("loop").x + rectFor("loop").width,
    );
    const { x, y } = rectFor("inner");
    expect(containerAt({ nodes, edges: [] }, rects, { x: x + 1, y: y + 1 })).toBe("loop");
  });

  test("places each of 5,000 nodes in a chain with a loop once, without overlaps", () => {
    const nodes = Array.from({ length: 5_000 }, (_, index) => node(`n${index}`));
    const edges = nodes.map(({ id }, index): [string, string] => [id, `n${(index + 1) % 5_000}`]);
    const placed = laidOut(nodes, edges);
    expect(new Set([...placed.values()].map(({ x, y }) => `${x} ${y}`)).size).toBe(5_000);
  });

  test("places a container without content", () => {
    const places = [...laidOut([node("a"), node("loop", null, true)], [["a", "loop"]]).values()];
    expect(places.every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y))).toBe(true);
    expect(laidOut([], []).size).toBe(0);
  });

  test("accepts nodes with the names of Object.prototype's properties", () => {
    const placed = laidOut(
      [node("constructor"), node("__proto__")],
      [["constructor", "__proto__"]],
    );
    expect(placed.size).toBe(2);
  });
});

describe("the first view", () => {
  const size = { width: 1_000, height: 800 };
  const first = { x: 0, y: 0, width: 220, height: 60 };
  const viewTo = (last: { x: number; y: number }) =>
    viewOf(
      new Map([
        ["first", first],
        ["last", { ...last, width: 220, height: 60 }],
      ]),
      size,
    );

  test("shows the whole drawing while it is readable, at most at full size", () => {
    expect(viewTo({ x: 300, y: 0 }).zoom).toBe(1);
    const { zoom, x, y } = viewTo({ x: 900, y: 700 });
    expect(zoom).toBe(0.8);
    expect([x, x + 1_120 * zoom].every((at) => at > 0 && at < size.width)).toBe(true);
    expect([y, y + 760 * zoom].every((at) => at > 0 && at < size.height)).toBe(true);
  });

  test("shows the start of a larger drawing at a readable size", () => {
    expect(viewTo({ x: 20_000, y: 0 })).toMatchObject({ zoom: 0.75, x: 40 });
  });

  test("zooms in steps between its limits", () => {
    expect([zoomStep(0.75, 1), zoomStep(0.75, -1)]).toEqual([0.9, 0.7]);
    expect([zoomStep(0.2, -1), zoomStep(2, 1)]).toEqual([0.2, 2]);
  });
});

describe("nodes with positions of a document", () => {
  test("never cover each other, also in a container, and stay where there is room", () => {
    const tall = (id: string, parent: string | null = null) => ({
      ...node(id, parent),
      lines: Array.from({ length: 6 }, (_, line) => `line ${line}`),
    });
    const nodes = [
      tall("a"),
      tall("below"),
      tall("beside"),
      node("loop", null, true),
      tall("inner", "loop"),
      tall("other", "loop"),
      node("last"),
    ];
    const drawing = { nodes, edges: [] };
    const given = new Map([
      ["a", { x: 0, y: 0 }],
      ["below", { x: 10, y: 60 }],
      ["beside", { x: 300, y: 0 }],
      ["loop", { x: 600, y: 0 }],
      ["inner", { x: 24, y: 60 }],
      ["other", { x: 24, y: 90 }],
      ["last", { x: 620, y: 150 }],
    ]);
    const { positions, sizes } = settled(drawing, given);
    const rects = rectsOf(drawing.nodes, positions, sizes);
    const inside = new Set(["inner", "other"]);
    for (const [one, rect] of rects)
      for (const [other, next] of rects) {
        const isNested = inside.has(one) !== inside.has(other) && [one, other].includes("loop");
        if (one !== other && !isNested) expect([one, other, overlaps(rect, next)]).toContain(false);
      }
    for (const id of ["a", "beside", "loop", "inner"])
      expect(positions.get(id)).toEqual(given.get(id));
  });

  test("have rows of text that end with an ellipsis only where text is omitted", () => {
    const rows = (line: string) => rowsOf({ lines: [line], type: "agent" });
    expect(rows("short")).toEqual(["short"]);
    expect(rows("You write a report of one paragraph.")).toEqual([
      "You write a report of one",
      "paragraph.",
    ]);
    expect(rows("word ".repeat(40)).at(-1)).toEndWith("…");
    expect(rows("汉".repeat(20))).toEqual(["汉".repeat(14), "汉".repeat(6)]);
  });
});
