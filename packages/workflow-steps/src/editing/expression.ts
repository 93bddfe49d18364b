import {
  type DocumentPath,
  type Inserted,
  isRecord,
  type RunValue,
  spliced,
} from "@uncaged/workflow/editing";
import { stepsOf } from "./steps.ts";

/** Returns the expression of a run's value: a variable or a param with its path; null for other values. */
export function expressionOf(document: unknown, { node, part, path }: RunValue): string | null {
  if (part === "scope") return path;
  if (part === "output") return path.startsWith("$") ? path : null;
  const [root = ""] = /^[\w$]+/.exec(path) ?? [];
  const step = stepsOf(document).all.get(node)?.step;
  const { input = null, in: inputs = null }: Record<string, unknown> = step ?? {};
  const given = [input, inputs, step].find((one) => isRecord(one) && root in one);
  const source = isRecord(given) ? given[root] : undefined;
  const reference = typeof source === "string" ? /^=\s*([\w$.[\]]+)\s*$/.exec(source)?.[1] : null;
  return reference ? `${reference}${path.slice(root.length)}` : null;
}

/** Fields whose whole text is an expression. In other fields, an expression begins with `=`. */
const bare = new Set<unknown>(["if", "while", "cases"]);

/** Inserts an expression into a field. A plain text becomes an expression that joins its parts. */
export function insert(
  text: string,
  caret: number,
  expression: string,
  [field]: DocumentPath,
): Inserted {
  if (bare.has(field)) return spliced(text, caret, expression);
  if (text.startsWith("=")) return spliced(text, Math.max(1, caret), expression);
  const before = quoted(text.slice(0, caret));
  const after = quoted(text.slice(caret));
  const start = before === "" ? "=" : `=${before} + `;
  const all = `${start}${expression}`;
  return { text: after === "" ? all : `${all} + ${after}`, caret: all.length };
}

const quoted = (text: string): string =>
  text === ""
    ? ""
    : `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
