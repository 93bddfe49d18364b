import type { DrawnEdge, DrawnNode, Point } from "@uncaged/workflow/editing";
import { Box } from "lucide-react";
import { isRecord } from "../src/lib/json.ts";
import type { DocumentKind } from "../src/editor/kind.ts";

type BoxItem = { id: string; x: number; y: number; name?: string };
type Line = { from: string; to: string };
type Boxes = { boxes: BoxItem[]; lines: Line[] };

const readBoxes = (document: unknown): Boxes => {
  const list = (name: string): unknown[] => {
    const value = isRecord(document) ? document[name] : [];
    return Array.isArray(value) ? value : [];
  };
  const isBox = (one: unknown): one is BoxItem => isRecord(one) && typeof one.id === "string";
  const isLine = (one: unknown): one is Line => isRecord(one) && typeof one.from === "string";
  return { boxes: list("boxes").filter(isBox), lines: list("lines").filter(isLine) };
};

const port = (id: string, role: "in" | "out") =>
  ({ id, role, side: role === "in" ? "left" : "right", label: null, isOpen: true }) as const;

const nodeOf = ({ id, name = id, x, y }: BoxItem, index: number): DrawnNode => ({
  id,
  type: "box",
  title: name,
  lines: [],
  at: { x, y },
  parent: null,
  isContainer: false,
  isFixed: index === 0,
  ports: [port("in", "in"), port("out", "out")],
  path: ["boxes", index],
});

const edgeOf = ({ from, to }: Line, index: number): DrawnEdge => ({
  id: `${from}-${to}`,
  source: from,
  sourcePort: "out",
  target: to,
  targetPort: "in",
  label: null,
  look: "next",
  path: ["lines", index],
});

const shifted =
  (by: Point) =>
  (box: BoxItem): BoxItem => ({
    ...box,
    x: box.x + by.x,
    y: box.y + by.y,
  });

/** A minimal kind of document for editor tests: boxes with lines between them. */
export const boxes: DocumentKind = {
  name: "graph",
  noun: "drawing",
  emptyText: '{\n  "boxes": [],\n  "lines": []\n}\n',
  palette: [{ type: "box", label: "Box", icon: Box, hint: "A box", key: "b" }],
  read: (document) => {
    const { boxes: all, lines } = readBoxes(document);
    return { nodes: all.map(nodeOf), edges: lines.map(edgeOf) };
  },
  check: (document) =>
    readBoxes(document).boxes.flatMap(({ name }, index) =>
      name === ""
        ? [
            {
              path: ["boxes", index, "name"],
              message: "a box needs a name",
              severity: "error" as const,
            },
          ]
        : [],
    ),
  recognize: (document) => (isRecord(document) && "steps" in document ? "a step workflow" : null),
  add: (document, _type, { x, y }) => {
    const { length } = readBoxes(document).boxes;
    const id = `box-${length + 1}`;
    return {
      label: "Add a box",
      changes: [{ path: ["boxes", length], value: { id, x, y }, insert: true }],
      select: [id],
    };
  },
  remove: (document, nodes, edges) => {
    const { boxes: all, lines } = readBoxes(document);
    const isGone = (line: Line, index: number) =>
      edges.includes(edgeOf(line, index).id) ||
      nodes.includes(line.from) ||
      nodes.includes(line.to);
    return {
      label: "Delete",
      changes: [
        ...all.flatMap(({ id }, index) =>
          nodes.includes(id) ? [{ path: ["boxes", index], value: undefined }] : [],
        ),
        ...lines.flatMap((line, index) =>
          isGone(line, index) ? [{ path: ["lines", index], value: undefined }] : [],
        ),
      ],
    };
  },
  move: (document, positions) => {
    const indexes = new Map(readBoxes(document).boxes.map(({ id }, index) => [id, index]));
    return {
      label: "Move",
      changes: positions.flatMap(({ id, at }) => {
        const path = ["boxes", indexes.get(id) ?? 0];
        return [
          { path: [...path, "x"], value: at.x },
          { path: [...path, "y"], value: at.y },
        ];
      }),
    };
  },
  connect: (document, from, to, replacing) => {
    if (from.node === to.node) return { refused: "A box has no line to itself." };
    const { lines } = readBoxes(document);
    const before = lines.findIndex((line, index) => edgeOf(line, index).id === replacing);
    return {
      label: "Connect",
      changes: [
        ...(before >= 0 ? [{ path: ["lines", before], value: undefined }] : []),
        { path: ["lines", lines.length], value: { from: from.node, to: to.node }, insert: true },
      ],
    };
  },
  copy: (document, nodes) => {
    const { boxes: all, lines } = readBoxes(document);
    return {
      boxes: all.filter(({ id }) => nodes.includes(id)),
      lines: lines.filter(({ from, to }) => nodes.includes(from) && nodes.includes(to)),
    };
  },
  paste: (document, fragment, at) => {
    const { boxes: pasted, lines } = readBoxes(fragment);
    const [first] = pasted;
    if (!first) return null;
    const own = readBoxes(document);
    const ids = new Map(pasted.map(({ id }, index) => [id, `box-${own.boxes.length + index + 1}`]));
    const idOf = (id: string): string => ids.get(id) ?? id;
    const shift = shifted({ x: at.x - first.x, y: at.y - first.y });
    return {
      label: "Paste",
      changes: [
        ...pasted.map((box) => ({
          path: ["boxes", own.boxes.length],
          value: { ...shift(box), id: idOf(box.id) },
          insert: true as const,
        })),
        ...lines.map(({ from, to }) => ({
          path: ["lines", own.lines.length],
          value: { from: idOf(from), to: idOf(to) },
          insert: true as const,
        })),
      ],
      select: [...ids.values()],
    };
  },
  form: (document, node) => {
    const index = readBoxes(document).boxes.findIndex(({ id }) => id === node);
    if (index < 0) return null;
    const name = { type: "string", title: "Name" };
    return {
      schema: { type: "object", properties: { name } },
      path: ["boxes", index],
      value: { name: readBoxes(document).boxes[index]?.name },
    };
  },
};
