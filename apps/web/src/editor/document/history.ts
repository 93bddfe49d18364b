import { applyEdits, inverseOf, type TextEdit } from "@uncaged/workflow/editing";

/** Ids of the selected nodes and lines. */
export type Selection = { nodes: ReadonlySet<string>; edges: ReadonlySet<string> };

export const nothing: Selection = { nodes: new Set(), edges: new Set() };

type Step = {
  label: string;
  /** Each batch applies to the result of the previous batch. */
  batches: TextEdit[][];
  merge: string | null;
  at: number;
  before: Selection;
  after: Selection;
};

type Entry = Pick<Step, "label" | "merge" | "before" | "after"> & { edits: TextEdit[] };

type Went = { text: string; selection: Selection };

/** Edits of one field within this time form one step, in milliseconds. */
const togetherMs = 1_000;

/** Maximum number of steps. Beyond it, the oldest steps are dropped. */
const mostSteps = 10_000;

/** The undo history of a text. Stores edits instead of texts, to use less memory. */
export class History {
  readonly #past: Step[] = [];
  #future: Step[] = [];

  /** Labels of the next undo and the next redo. */
  get undoable(): string | null {
    return this.#past.at(-1)?.label ?? null;
  }

  get redoable(): string | null {
    return this.#future.at(-1)?.label ?? null;
  }

  push({ edits, ...entry }: Entry, at: number): void {
    this.#future = [];
    const last = this.#past.at(-1);
    if (last && entry.merge !== null && last.merge === entry.merge && at - last.at < togetherMs) {
      last.batches.push(edits);
      last.at = at;
      last.after = entry.after;
    } else {
      this.#past.push({ ...entry, batches: [edits], at });
      if (this.#past.length > mostSteps) this.#past.shift();
    }
  }

  /** Keeps the next edit from merging with earlier edits. */
  seal(): void {
    const last = this.#past.at(-1);
    if (last) last.merge = null;
  }

  undo(text: string): Went | null {
    const step = this.#past.pop();
    if (!step) return null;
    this.#future.push(step);
    const batches = step.batches.toReversed().map(inverseOf);
    return { text: batches.reduce(applyEdits, text), selection: step.before };
  }

  redo(text: string): Went | null {
    const step = this.#future.pop();
    if (!step) return null;
    this.#past.push(step);
    return { text: step.batches.reduce(applyEdits, text), selection: step.after };
  }
}
