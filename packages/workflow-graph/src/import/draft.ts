import { nodeDefaults } from "../document/graph.ts";
import type { Condition, GraphDocument } from "../document/schema.ts";

/** A part of a source that the graph lacks or represents differently. */
export type LeftOut = {
  /** Place in the source: a JSON path or a line. */
  at: string;
  message: string;
};

/** A value that a text or a condition in the source refers to. */
export type Reference = {
  /** Id of the node whose output it is; null for a value that does not exist in a graph. */
  node: string | null;
  /** Field of the output, for an output with a schema. */
  field: string | null;
  /** The expression in the source. */
  source: string;
};

export type PromptPart = string | Reference;

/** A condition before its reference is resolved; null if it can't be expressed. */
export type DraftCondition = {
  source: string;
  at: string;
  test: { of: Reference; operator: "equal" | "contains"; value: string | number | boolean } | null;
};

type DraftNode = {
  id: string;
  type: "start" | "agent" | "if" | "approval";
  at: string;
  place: { x: number; y: number } | null;
  data: Record<string, unknown>;
  /** The data's texts with references, by field. */
  texts: Record<string, readonly PromptPart[]>;
  conditions: readonly DraftCondition[];
};

type NewNode = Pick<DraftNode, "type" | "at"> & Partial<DraftNode> & { name: string };

/** The end of a path: a node and the handle from which the next connection starts. */
export type End = { source: string; handle: string | null };

/**
 * A graph under construction. References become placeholders when the graph is complete, because only the previous
 * output of a node can be read.
 */
export class Draft {
  readonly left: LeftOut[] = [];
  readonly #nodes = new Map<string, DraftNode>();
  readonly #notes: NonNullable<GraphDocument["notes"]> = [];
  readonly #connections: { source: string; target: string; sourceHandle?: string }[] = [];

  add({ name, type, at, ...more }: NewNode): string {
    const id = this.#idFor(name || type);
    const empty = { place: null, data: {}, texts: {}, conditions: [] };
    this.#nodes.set(id, { ...empty, ...more, id, type, at });
    return id;
  }

  /** Sets the texts of a node, which may refer to nodes that were added after it. */
  fill(id: string, texts: DraftNode["texts"]): void {
    const node = this.#nodes.get(id);
    if (node) this.#nodes.set(id, { ...node, texts });
  }

  /** Sets the conditions of a node, which may refer to nodes that were added after it. */
  test(id: string, conditions: DraftNode["conditions"]): void {
    const node = this.#nodes.get(id);
    if (node) this.#nodes.set(id, { ...node, conditions });
  }

  note(text: string, place: DraftNode["place"]): void {
    this.#notes.push({ id: `note-${this.#notes.length + 1}`, text, ...(place ?? { x: 0, y: 0 }) });
  }

  connect({ source, handle }: End, target: string): void {
    const isKnown = this.#connections.some(
      (one) =>
        one.source === source &&
        one.target === target &&
        one.sourceHandle === (handle ?? undefined),
    );
    if (isKnown) return;
    this.#connections.push({ source, target, ...(handle !== null && { sourceHandle: handle }) });
  }

  leave(at: string, message: string): void {
    this.left.push({ at, message });
  }

  /** Returns the complete graph. */
  document(description: string | null): GraphDocument {
    const arriving = Map.groupBy(this.#connections, ({ target }) => target);
    const nodes = [...this.#nodes.values()].map((node) => this.#finished(node, arriving));
    return {
      ...(description && { description }),
      nodes,
      connections: this.#connections,
      ...(this.#notes.length > 0 && { notes: this.#notes }),
    };
  }

  #finished(node: DraftNode, arriving: Arriving): GraphDocument["nodes"][number] {
    const { id, type, at, place, data, texts, conditions } = node;
    const origins = this.#originsOf(id, arriving);
    const isPrevious = (of: Reference) =>
      of.node !== null && origins.size === 1 && origins.has(of.node);
    const filled = Object.entries(texts).map(([name, parts]) => {
      const text = parts.map((part) => {
        if (typeof part === "string") return part;
        // An approval's question and a system prompt have no placeholders.
        const isFillable = name === "userPrompt" && isPrevious(part) && part.field === null;
        if (isFillable) return "{{PREVIOUS_OUTPUT}}";
        this.leave(at, `${id}: ${name} can't read ${part.source} here; the text shows its name`);
        return `{{${part.source}}}`;
      });
      return [name, text.join("")] as const;
    });
    const tests = conditions.map((one) => this.#tested(id, one, isPrevious));
    return {
      id,
      type,
      ...place,
      data: { ...data, ...Object.fromEntries(filled), ...(type === "if" && { conditions: tests }) },
    };
  }

  #tested(
    id: string,
    { at, source, test }: DraftCondition,
    isPrevious: (of: Reference) => boolean,
  ): Condition {
    if (test && isPrevious(test.of)) {
      const { of, operator, value } = test;
      if (of.field === null) return { operator, value: String(value) };
      if (operator === "equal") {
        return {
          operator: "contains",
          value: JSON.stringify({ [of.field]: value }).slice(1, -1),
        };
      }
    }
    const said = source.trim() === "" ? "an empty condition" : `the condition ${source.trim()}`;
    this.leave(at, `${id}: ${said} can't be tested here; its branch exists, but never runs`);
    return { ...nodeDefaults.if.conditions[0] };
  }

  /** Returns the nodes whose output a node gets as its input. Conditions and approvals pass their input on. */
  #originsOf(id: string, arriving: Arriving): Set<string> {
    const origins = new Set<string>();
    const seen = new Set([id]);
    const open = [id];
    for (let target = open.pop(); target !== undefined; target = open.pop()) {
      for (const { source, sourceHandle } of arriving.get(target) ?? []) {
        if (sourceHandle === "subagent") continue;
        const type = this.#nodes.get(source)?.type;
        if (type !== "if" && type !== "approval") origins.add(source);
        else if (!seen.has(source)) {
          seen.add(source);
          open.push(source);
        }
      }
    }
    return origins;
  }

  #idFor(name: string): string {
    const words = name.normalize("NFKD").toLowerCase();
    const plain = words
      .replace(/[^a-z0-9]+/g, "-")
      .replace(/^-|-$/g, "")
      .slice(0, 60);
    const first = plain || "node";
    let id = first;
    for (let number = 2; this.#nodes.has(id); number += 1) id = `${first}-${number}`;
    return id;
  }
}

type Arriving = ReadonlyMap<string, readonly { source: string; sourceHandle?: string }[]>;

/** Returns the beginning of a text on one line. */
export function shown(text: string, most = 80): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length > most ? `${line.slice(0, most)}…` : line;
}

type Fields = Readonly<Record<string, unknown>>;

export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : {};

export const listOf = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

export const isEmpty = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  value === "" ||
  value === false ||
  (Array.isArray(value) && value.length === 0) ||
  (typeof value === "object" && Object.keys(value).length === 0);

/** Reads a condition of one comparison. `of` returns the node at an expression's root. */
export function comparisonOf(
  source: string,
  of: (path: string) => Reference | null,
): DraftCondition["test"] {
  const literal = String.raw`("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|-?\d+(?:\.\d+)?|true|false)`;
  const path = String.raw`([A-Za-z_$][\w$]*(?:\s*\.\s*[A-Za-z_$][\w$]*)*)`;
  const text = source.trim();
  if (text.length > longestCondition) return null;
  const equal = new RegExp(`^${path}\\s*={2,3}\\s*${literal}$`).exec(text);
  const within = new RegExp(
    `^${path}\\s*\\.\\s*(?:includes|contains)\\(\\s*${literal}\\s*\\)$`,
  ).exec(text);
  const bare = new RegExp(`^(!?)\\s*${path}$`).exec(text);
  if (bare) {
    const tested = of((bare[2] ?? "").replace(/\s+/g, ""));
    const isField = tested !== null && tested.field !== null;
    return isField ? { of: tested, operator: "equal", value: bare[1] === "" } : null;
  }
  const [, root = "", value = ""] = equal ?? within ?? [];
  const reference = root === "" ? null : of(root.replace(/\s+/g, ""));
  if (!reference) return null;
  return { of: reference, operator: equal ? "equal" : "contains", value: literalOf(value) };
}

// In characters.
const longestCondition = 2_000;

function literalOf(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  if (!/^["']/.test(text)) return Number(text);
  return text
    .slice(1, -1)
    .replace(/\\(.)/g, (_, letter: string) => (letter === "n" ? "\n" : letter));
}
