import type { Blobs, ThreadContext } from "@uncaged/workflow";
import type { $ZodType, output } from "zod/v4/core";
import type { Part } from "../content/part.ts";
import type { ApprovalRule, Approve, NeededApproval } from "./approval.ts";

/**
 * The context of a tool call. An agent takes the context from its `ThreadContext`. `key` is the idempotency key of the
 * call, which is the same when the call is repeated after a crash. `wasBegun` means that the call was running when its
 * process ended. `thread` is the thread as the agent got it. `approved` is the hash of the call that a person approved.
 * `exact` is the JSON of the arguments if it has integers that a number would round. The arguments have these integers
 * as strings.
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
 * The context of a running tool. `signal` is aborted with the thread and at the tool's timeout. The functions report
 * progress as `tool_message` events. Reports after the end of the tool are dropped.
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
 * A tool. `name` has at most 64 letters, digits, `_` and `-`. `execute` gets the model's arguments as parsed by the Zod
 * schema `input`. `execute` returns text, a JSON value, pictures and documents (`image`, `file`), or a list of these.
 * Of an object `{result, …}`, the model gets only `result`, and the tool's caller gets the whole object. The model gets
 * the errors of `execute`, including the hint of a `WorkflowError`. `timeoutMs` replaces the timeout of the registry.
 * With `idempotent: false`, a call that was running when its process ended does not run again, and the model learns
 * that the outcome is unknown. With `approve`, a person decides on all or some calls before they run.
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

/** Returns the tool unchanged. Infers the types of `execute` from `input`. */
export const tool = <Schema extends $ZodType>(one: Tool<Schema>): Tool<Schema> => one;

/** The definition of a tool for a model. `input_schema` is a JSON Schema of an object. */
export type ToolDefinition = {
  name: string;
  description: string;
  input_schema: Record<string, unknown>;
};

/** A tool that can be called. `check` checks the arguments, and `execute` gets the checked arguments. */
export type ReadyTool = ToolDefinition & {
  timeoutMs?: number;
  idempotent?: boolean;
  approval?: ApprovalRule;
  check(input: unknown): { ok: true; input: unknown } | { ok: false; problem: string };
  execute(input: unknown, execution: ToolExecution): unknown;
};

/** A source of tools that are known only when a thread runs, such as an MCP server. */
export type ToolSource = { tools(context: ToolContext): Promise<ReadyTool[]> };

/**
 * The result of a tool call for a model. The `content` of an error describes the problem to the model. `parts` are
 * pictures and documents, for which `content` has notes.
 */
export type ToolAnswer = { content: string; is_error: boolean; parts?: Part[] };

/**
 * The tools of an agent. `run` never rejects, because every failure is an answer with `is_error`. `run` publishes the
 * `tool_*` events, and the agent publishes `llm_tool_use` and `llm_tool_result`. `callId` is the model's id of the
 * call. A call that needs an approval runs only if `approved` in the context has the approval.
 */
export type ToolRunner = {
  definitions(context: ToolContext): Promise<ToolDefinition[]>;
  run(name: string, input: unknown, context: ToolContext, callId?: string): Promise<ToolAnswer>;
  /** Returns the approval that a call needs, or null. Rejects if the rule of the tool rejects. */
  approval?(name: string, input: unknown, context: ToolContext): Promise<NeededApproval | null>;
};

/**
 * Options of a registry. `timeoutMs` is the timeout of tools without their own timeout (2 minutes), and `maxResult` the
 * maximum length of an answer (100,000 characters). `approve` is the approval rule of tools without their own rule,
 * including the tools of MCP servers.
 */
export type ToolLimits = {
  timeoutMs?: number;
  maxResult?: number;
  approve?: true | ((tool: string, input: unknown) => boolean | Promise<boolean>);
};

/** A registry of tools. `all` returns the tools of a thread, including the tools of sources. */
export type ToolRegistry = ToolRunner & {
  readonly limits: Readonly<Required<Omit<ToolLimits, "approve">>>;
  all(context: ToolContext): Promise<ReadyTool[]>;
};
