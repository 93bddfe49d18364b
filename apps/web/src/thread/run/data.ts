import { isRecord } from "../../lib/json.ts";
import { nodeIdOf } from "../../lib/thread-log.ts";
import { outputsOf } from "../detail/parts.ts";
import type { TraceRow } from "../trace/rows.ts";

/** The rows of each run of a document's node, in the order of time. */
export const runsOf = (rows: readonly TraceRow[], node: string): TraceRow[] =>
  rows.filter(
    ({ id, card, kind }) =>
      card !== null &&
      card.attempt.attempt === id &&
      kind !== "answer" &&
      nodeIdOf(card) === node &&
      !card.attempt.path.some((part) => "run" in part && part.in === node),
  );

export type Values = Readonly<Record<string, unknown>>;

/** The input and the output of one run of a node; null for a part that is not known. */
export function dataOf(
  rows: readonly TraceRow[],
  row: TraceRow,
): { input: Values | null; output: Values | null } {
  const { card, kind, number } = row;
  if (!card) return { input: null, output: null };
  const given = card.attempt.input?.resolvedInputs;
  const input = isRecord(given) ? given : null;
  if (kind === "question") {
    const answer = rows.find((one) => one.kind === "answer" && one.number === (number ?? 0) + 1);
    const { content, meta } = answer?.card?.step ?? {};
    const value = isRecord(meta) ? meta.value : undefined;
    const question = { question: card.step?.content ?? "" };
    const answered = isRecord(value) ? value : { answer: value ?? content };
    return { input: input ?? question, output: content === undefined ? null : answered };
  }
  const outputs = outputsOf(card);
  const { step, attempt } = card;
  if (Object.keys(outputs).length > 0) return { input, output: outputs };
  if (step) return { input, output: step.content === "" ? {} : { output: step.content } };
  const last = attempt.turns.findLast(({ kind: turn }) => turn === "text");
  return { input, output: last?.kind === "text" ? { output: last.text } : null };
}

const mostColumns = 12;

/** The columns of a table for a list of objects; null if the value is not such a list. */
export function columnsOf(value: unknown): string[] | null {
  if (!Array.isArray(value) || value.length === 0 || !value.every(isRecord)) return null;
  const names = new Set<string>();
  for (const item of value.slice(0, 100)) for (const name of Object.keys(item)) names.add(name);
  return names.size > 0 && names.size <= mostColumns ? [...names] : null;
}

/** The path of a value below a named value: `$rows[0].name`. */
export const below = (name: string, path: string): string =>
  path === "" || path.startsWith("[") ? `${name}${path}` : `${name}.${path}`;

/** The path of a member of a value: `.name`, `[0]` or `["a b"]`. */
export const memberPath = (name: string | number): string =>
  typeof name === "string" && /^[A-Za-z_$][\w$]*$/.test(name)
    ? `.${name}`
    : `[${JSON.stringify(name)}]`;
