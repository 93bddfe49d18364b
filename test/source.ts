import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { parseSync } from "oxc-parser";

/** The repository's top folder. */
export const top = join(import.meta.dir, "..");

export type Node = { type: string; start: number; [key: string]: unknown };

/** An import of any kind, type-only ones included: what it names and its line. */
export type Import = { from: string; line: number; isType: boolean };

export type Source = { path: string; text: string; imports: Import[]; nodes: Node[] };

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

const importing = new Set([
  "ImportDeclaration",
  "ExportNamedDeclaration",
  "ExportAllDeclaration",
  "ImportExpression",
  "TSImportType",
]);

/** The line of a place in a text, from 1. */
export const lineAt = (text: string, offset: number): number =>
  text.slice(0, offset).split("\n").length;

function importsOf(text: string, nodes: Node[]): Import[] {
  return nodes
    .filter(({ type }) => importing.has(type))
    .flatMap((node) => {
      const source = (node.source ?? node.argument) as Node | null;
      if (typeof source?.value !== "string") return [];
      const isType = node.importKind === "type" || node.exportKind === "type";
      return [{ from: source.value, line: lineAt(text, node.start), isType }];
    });
}

/** Parses a TypeScript file, named by its path from the top. */
export function readSource(path: string): Source {
  const text = readFileSync(join(top, path), "utf8");
  const { program, errors } = parseSync(path, text);
  if (errors.length > 0) throw new Error(`${path}: ${errors[0]?.message}`);
  const nodes = [...walk(program as unknown as Node)];
  return { path, text, imports: importsOf(text, nodes), nodes };
}

/** The files that match a glob, from the top, sorted; nothing of node_modules. */
export const files = (glob: string): string[] =>
  [...new Bun.Glob(glob).scanSync({ cwd: top, dot: true })]
    .filter((path) => !/(^|\/)(node_modules|\.git|\.cache|\.pack|dist)\//.test(path))
    .sort();

/** The repository path that a relative import names. */
export const target = (path: string, from: string): string => join(dirname(path), from);

/** The cycles of imports among files, each as the path that leads back to its start. */
export function cyclesOf(sources: readonly Source[]): string[] {
  const byPath = new Map(sources.map((source) => [source.path, source]));
  const cycles: string[] = [];
  const done = new Set<string>();
  const visit = (path: string, trail: string[]): void => {
    const start = trail.indexOf(path);
    if (start !== -1) cycles.push([...trail.slice(start), path].join(" -> "));
    if (start !== -1 || done.has(path)) return;
    for (const { from } of byPath.get(path)?.imports ?? []) {
      if (from.startsWith(".")) visit(target(path, from), [...trail, path]);
    }
    done.add(path);
  };
  for (const { path } of sources) visit(path, []);
  return cycles;
}
