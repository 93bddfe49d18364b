import type { Adapters, LLMUsage } from "../adapter/adapter.ts";
import type { RegistryDocument, StepDocument } from "../document/document.ts";
import type { Emit } from "../event/event.ts";

/** What a step that calls something is given. `inputs` is its evaluated `in`, a copy of its own. */
export type Call = {
  step: StepDocument;
  inputs: Record<string, unknown>;
  /** A field of the step, evaluated: an expression's value, or itself. */
  value: (field: unknown) => unknown;
  adapters: Adapters;
  registry: RegistryDocument;
  /** Configuration such as `LLM_MODEL`; nothing is read from the process. */
  env: Readonly<Record<string, string>>;
  runID: string;
  /** The step's id, behind those of the steps that its workflow runs in. */
  place: string;
  signal: AbortSignal;
  emit: Emit;
  /** A value as an event may hold it: its beginning, or a copy of the whole; null when it has no JSON. */
  shown: (value: unknown) => unknown;
  /** The same for what a tool tells while it works; cut when it is not given. */
  shownData?: (data: unknown) => unknown;
  /** Writes a file by the file adapter, under the rules of `registry.files`, with its events. */
  writeFile: (path: string, data: string | Uint8Array, mode: string) => Promise<void>;
};

/** What a call gave: the locals that `out` is mapped with, and what the commit counts. */
export type Called = {
  locals: { _result: unknown; _meta?: unknown; _toolResult?: unknown };
  model?: string;
  usage?: LLMUsage;
  /** In US dollars, null when the price is not known. */
  cost?: number | null;
};

/**
 * Carries a step out. What it throws fails the step; an error whose call had been answered and paid
 * for has `spent: {model, usage, cost}`.
 */
export type Executor = (call: Call) => Promise<Called>;
