import type { Adapters, LLMAdapter, LLMParams, LLMResult } from "../src/adapter/adapter.ts";
import { getStepType } from "../src/document/document.ts";
import type { RegistryDocument, StepDocument } from "../src/document/format.ts";
import { type Call, type Called, shown } from "../src/step/call.ts";
import { executors } from "../src/step/tool.ts";

/** An event as an executor publishes it. */
export type Published = { type: string; payload: Record<string, unknown> };

/** A file that a step wrote. */
export type Written = { path: string; data: string | Uint8Array; mode: string };

/** The outcome of a step: its events, files and result, or its error. */
export type Went = { events: Published[]; files: Written[]; called: Called | null; error: unknown };

type Around = {
  inputs?: Record<string, unknown>;
  registry?: RegistryDocument;
  env?: Record<string, string>;
  signal?: AbortSignal;
  events?: Published[];
};

/** Runs one step like the interpreter, but takes each field as its value without evaluating expressions. */
export async function carryOut(
  step: Partial<StepDocument> & { id: string },
  adapters: Adapters,
  around: Around = {},
): Promise<Went> {
  const { events = [], inputs = {}, registry = {}, env = {} } = around;
  const went: Went = { events, files: [], called: null, error: null };
  const call: Call = {
    step,
    inputs,
    value: (field) => field,
    adapters,
    registry,
    env,
    runID: "wf_1",
    stepID: step.id,
    signal: around.signal ?? new AbortController().signal,
    shown,
    emit: (type, payload) => void events.push({ type, payload }),
    writeFile: async (path, data, mode) => void went.files.push({ path, data, mode }),
  };
  const executor = executors[getStepType(step) ?? "Noop"];
  if (!executor) throw new Error(`no executor for ${step.id} found`);
  try {
    went.called = await executor(call);
  } catch (error) {
    went.error = error;
  }
  return went;
}

/** Returns the types of the events, in order. */
export const typesOf = ({ events }: Went): string => events.map(({ type }) => type).join(" ");

/** Returns the payload of the only event of a type. */
export function payloadOf({ events }: Went, type: string): Record<string, unknown> {
  const [event, second] = events.filter((one) => one.type === type);
  if (!event || second) throw new Error(`not exactly one ${type}`);
  return event.payload;
}

/** Returns an adapter that returns one result and records its requests. */
export function answering(result: Partial<LLMResult> = {}) {
  const asked: LLMParams[] = [];
  const llm: LLMAdapter = {
    async call(params) {
      asked.push(params);
      return { content: "hello", ...result };
    },
  };
  return { llm, asked };
}
