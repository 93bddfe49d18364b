import type { Blobs, ThreadContext } from "@uncaged/workflow";
import type { $ZodType, output } from "zod/v4/core";
import type { Part } from "../content/part.ts";
import type { ApprovalRule, Approve, NeededApproval } from "./approval.ts";

/**
 * The context of a tool's run. An agent takes it from its `ThreadContext`. `key` is the idempotency key of the call: a
 * call repeated after a crash has the same key. `wasBegun`: this call was running when its process ended. `thread` is
 * the thread as the agent got it. `approved` is the hash of the call that a person approved. `exact` is the JSON of the
 * arguments if it has integers beyond 2^53 that a number would round: the arguments have them as strings.
 */
export type ToolContext = {
  signal: AbortSignal;
  cwd: string;
  env: Readonly<Record<string, string>>;
  blobs?: Blobs;
  thread?: ThreadContext;
  key?: string;
  wasBegun?: boolean;
  approved?: string;
  exact?: string | undefined;
};

/**
 * The context of a running tool. `signal` is aborted with the thread and at the tool's timeout. The other functions
 * report progress as `tool_message` events, which are dropped after the tool has ended.
 */
export type ToolExecution = ToolContext & {
  emit(type: string, payload?: Record<string, unknown>): void;
  text(message: string, meta?: unknown): void;
  info(message: string, data?: unknown): void;
  warn(message: string, data?: unknown): void;
  error(message: string, data?: unknown): void;
  progress(message: string, data?: unknown): void;
};

/**
 * A tool. `name` has letters, digits, `_` and `-`, at most 64. `execute` gets the model's arguments as parsed by the
 * Zod schema `input`. `execute` returns text, a JSON value, pictures and documents (`image`, `file`), or a list of
 * these. `{result, …}` shows the model only the `result` and returns the whole to the tool's caller. The model gets the
 * errors of `execute`, including the hint of a `WorkflowError`. `timeoutMs` is for tools that take longer than the
 * registry allows. With `idempotent: false` a call that was running when its process ended does not run again: the
 * model is told that the outcome is unknown. With `approve` a person decides on all or some of its calls before they
 * run.
 */
export type Tool<Schema extends $ZodType = $ZodType> = {
  name: string;
  description: string;
  input: Schema;
  timeoutMs?: number;
  idempotent?: boolean;
  approve?: Approve<output<Schema>>;
  execute(input: output<Schema>, execution: ToolExecution): unknown;
};

/** Returns the tool itself. The call infers the types of `execute`. */
export const tool = <Schema extends $ZodType>(one: Tool<Schema>): Tool<Schema> => one;

/** A tool as a model gets it. `input_schema` is a JSON Schema of type object. */
export type ToolDefinition = {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
};

/** A tool that is ready to be called: `check` checks the arguments, and `execute` gets the checked value. */
export type ReadyTool = ToolDefinition & {
  timeoutMs?: number;
  idempotent?: boolean;
  approval?: ApprovalRule;
  check(input: unknown): { ok: true; input: unknown } | { ok: false; problem: string };
  execute(input: unknown, execution: ToolExecution): unknown;
};

/** Tools that are known only when a thread runs, such as the tools of an MCP server. */
export type ToolSource = { tools(context: ToolContext): Promise<ReadyTool[]> };

/**
 * A tool's answer to a model. The `content` of an error describes the problem to the model. `parts` are the pictures
 * and documents that `content` has notes about.
 */
export type ToolAnswer = { content: string; is_error: boolean; parts?: Part[] };

/**
 * The tools of an agent. `run` never rejects: every failure is an answer with `is_error`. `run` publishes the `tool_*`
 * events; the agent publishes `llm_tool_use` and `llm_tool_result`. `callId` is the model's id of its call. A call that
 * needs an approval runs only with the approval in the context (`approved`). `approval` tells whether a call needs an
 * approval.
 */
export type ToolRunner = {
  definitions(context: ToolContext): Promise<ToolDefinition[]>;
  run(name: string, input: unknown, context: ToolContext, callId?: string): Promise<ToolAnswer>;
  /** Returns the approval that a call needs, or null. Rejects if the rule of the tool rejects. */
  approval?(name: string, input: unknown, context: ToolContext): Promise<NeededApproval | null>;
};

/**
 * The timeout of a tool without its own (2 minutes), and the maximum length of its answer (100,000 characters).
 * `approve` applies to the tools without their own rule, including the tools of an MCP server.
 */
export type ToolLimits = {
  timeoutMs?: number;
  maxResult?: number;
  approve?: true | ((tool: string, input: unknown) => boolean | Promise<boolean>);
};

/** Tools by name. `all` returns the tools of a thread, including the tools of its sources. */
export type ToolRegistry = ToolRunner & {
  readonly limits: Readonly<Required<Omit<ToolLimits, "approve">>>;
  all(context: ToolContext): Promise<ReadyTool[]>;
};
