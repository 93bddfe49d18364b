import type { GraphDocument } from "../src/entry/index.ts";

export type Node = GraphDocument["nodes"][number];
type Connection = GraphDocument["connections"][number];

const node =
  (type: string) =>
  (id: string, data: Node["data"] = {}): Node => ({ id, type, x: 0, y: 0, data });

export const start = node("start");
export const agent = node("agent");
export const approval = node("approval");
export const condition = (id: string, ...conditions: { operator: string; value: string }[]): Node =>
  node("if")(id, { conditions });

/** Parses connections: `a -> b, c` and `a -reject-> b`, one per line or after a semicolon. */
export const lines = (text: string): Connection[] =>
  text
    .split(/[;\n]/)
    .filter((line) => line.trim() !== "")
    .flatMap((line) => {
      const [, source = "", handle, targets = ""] =
        /^\s*(\S+) -(?:([\w-]+)-)?> (.*?)\s*$/.exec(line) ?? [];
      return targets
        .split(", ")
        .map((target) => ({ source, target, ...(handle && { sourceHandle: handle }) }));
    });
