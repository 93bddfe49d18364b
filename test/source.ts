import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

/** The repository's top folder. */
export const top = join(import.meta.dir, "..");

export type Node = { type: string; start: number; [key: string]: unknown };

export type Source = { path: string; text: string; nodes: Node[] };

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string";

function* walk(node: Node): Generator<Node> {
  yield node;
  for (const value of Object.values(node)) {
    if (Array.isArray(value)) {
      for (const item of value) if (isNode(item)) yield* walk(item);
    } else if (isNode(value)) yield* walk(value);
  }
}

/** Returns the line number of a position in a text, from 1. */
export const lineAt = (text: string, offset: number): number =>
  text.slice(0, offset).split("\n").length;

/** Parses a TypeScript file. The path is relative to the top folder. */
export function readSource(path: string): Source {
  const text = readFileSync(join(top, path), "utf8");
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const nodes = [...walk(program as unknown as Node)];
  return { path, text, nodes };
}

/** Returns the files that match a glob, relative to the top folder, sorted, without node_modules. */
export const files = (glob: string): string[] =>
  [...new Bun.Glob(glob).scanSync({ cwd: top, dot: true })]
    .filter((path) => !/(^|\/)(node_modules|\.git|\.cache|\.pack|dist|reference\/api)\//.test(path))
    .sort();
