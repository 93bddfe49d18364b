import type { Spent } from "../run/usage.ts";
import type { CommandOptions } from "./command.ts";

/** What one line of a command's output tells. */
export type AgentOutput =
  | { kind: "text"; delta: string }
  | { kind: "thinking"; delta: string }
  | { kind: "toolUse"; id: string; name: string; input: unknown }
  | { kind: "toolResult"; id: string; content: unknown; isError: boolean }
  /** The session that a later step may go on with. */
  | { kind: "session"; id: string }
  /** What was counted so far of one of the models' answers, by its id: it counts if the run breaks off. */
  | { kind: "told"; id: string; spent: Spent }
  /** What a model used in the whole run. */
  | { kind: "spent"; spent: Spent }
  /** The answer, whole: the last one counts. */
  | { kind: "result"; text: string }
  /** The command says that it failed; `overBudget` when it has used up its `{budget}`. */
  | { kind: "failed"; message: string; overBudget?: boolean };

/**
 * Reads one run's JSON lines, in order: each is any JSON value, and tells nothing when it is unknown.
 * It is made anew for each run, so it may remember what came before.
 */
export type LineReader = () => (line: unknown) => AgentOutput[];

/** Properties of a JSON value, which may be anything at all. */
export type Fields = Record<string, unknown>;

/** A value as an object: an empty one when it is none. */
export const fieldsOf = (value: unknown): Fields =>
  typeof value === "object" && value !== null ? (value as Fields) : {};

export const listOf = (value: unknown): Fields[] =>
  Array.isArray(value) ? value.map(fieldsOf) : [];

export const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

export const countOf = (value: unknown): number =>
  typeof value === "number" && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;

/**
 * Options of the agents that are known commands. `command` is the program, `args` what it gets
 * besides; the others are {@link CommandOptions}'.
 */
export type PresetOptions = Pick<CommandOptions, "set" | "timeoutMs" | "graceMs" | "say"> & {
  command?: string;
  model?: string;
  args?: readonly string[];
  /** Variables that it gets besides its own. */
  env?: readonly string[];
};

/** Where the network is reached, for those that do not reach it directly. */
export const proxies = [
  "HTTP_PROXY",
  "HTTPS_PROXY",
  "NO_PROXY",
  "http_proxy",
  "https_proxy",
  "no_proxy",
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
];
