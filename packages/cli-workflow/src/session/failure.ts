import { CommanderError } from "commander";
import { type ErrorRecord, isWorkflowError, toErrorRecord } from "@uncaged/workflow/host";
import { withoutPasswords } from "@uncaged/workflow/internal";
import { jsonDocument } from "../output/output.ts";
import { exitCodes } from "../output/exit-code.ts";
import { oneLine } from "../output/text.ts";
import type { World } from "./session.ts";
import { usage } from "./errors.ts";

/** Returns an error for people: one line, or one line per finding with the hint on the last line. */
export function errorText({ message, details = [], hint }: ErrorRecord): string {
  const isOne = details.length < 2;
  const findings = (isOne ? [message] : details).map((text) => `error: ${oneLine(text)}`);
  const advice = hint === undefined ? "" : `${isOne ? "; " : "\n"}hint: ${oneLine(hint)}`;
  return `${findings.join("\n")}${advice}\n`;
}

export function errorEnvelope({ code, message, hint, details }: ErrorRecord) {
  return { error: { code, message, hint: hint ?? null, ...(details && { details }) } };
}

/**
 * Reports a command's error and returns the exit code. A user's error is one line on stderr, or with `--json` the
 * envelope on stdout. Any other error is a bug, reported with its stack and the address for reports.
 */
export function reportFailure(thrown: unknown, world: World, command?: string): number {
  const error = recordOf(thrown, command);
  const { results, notes } = world.output;
  if (asksForJson(world.argv)) results.write(jsonDocument(errorEnvelope(error), results.terminal));
  else if (error.code !== "INTERNAL") notes.write(errorText(error));
  if (error.code === "INTERNAL") notes.write(`${bugReport(thrown)}\n`);
  return exitCodes[error.kind];
}

/** Returns any error as a record: commander's errors as wrong usage of a command, an unknown error as `INTERNAL`. */
export function recordOf(thrown: unknown, command?: string): ErrorRecord {
  if (thrown instanceof CommanderError) return usageRecord(thrown, command);
  const missing = missingPackage(thrown);
  if (missing !== null) {
    return {
      code: "NOT_INSTALLED",
      kind: "failed",
      message: `uncaged-workflow is not fully installed: the package ${missing} is missing`,
      hint: "in a checkout run: bun install; else install uncaged-workflow again with npm",
    };
  }
  // A system error outside the storage root, for example of stdout on a full disk.
  const isDiskError = thrown instanceof Error && "syscall" in thrown && "errno" in thrown;
  const record = toErrorRecord(thrown);
  return isDiskError && !isWorkflowError(thrown) ? { ...record, code: "DISK_ERROR" } : record;
}

/** Tells whether commander threw only because it has shown the requested help. */
export function isHelp(thrown: unknown): boolean {
  return thrown instanceof CommanderError && thrown.exitCode === 0;
}

function usageRecord({ code, message }: CommanderError, command: string | undefined): ErrorRecord {
  const [first = "", didYouMean] = message.replace(/^error: /, "").split("\n");
  const isAlone = code === "commander.help";
  const what = isAlone ? `${command ?? "it"} needs a command` : first.replace(/\.$/, "");
  const suggestion = didYouMean?.replace(/^\(Did you mean (.*)\)$/, "did you mean $1");
  const help = `see: uncaged-workflow ${command === undefined ? "" : `${command} `}--help`;
  return toErrorRecord(usage(what, rightUse(code, first, command) ?? suggestion ?? help));
}

const values: Record<string, string> = {
  params: "JSON",
  prompt: "TEXT",
  "prompt-file": "<file>",
};

/** Returns the hint for an option of another command, or for a prompt without quotes. */
function rightUse(code: string, problem: string, command: string | undefined): string | null {
  if (command === "run" && code === "commander.excessArguments")
    return "quote the prompt: uncaged-workflow run <workflow> --prompt 'TEXT'";
  if (command !== "retry" || code !== "commander.unknownOption") return null;
  const [, option = ""] = /^unknown option '--([a-z-]+)/.exec(problem) ?? [];
  return Object.hasOwn(values, option)
    ? `start again from the first step: uncaged-workflow rerun <id> --${option} ${values[option]}`
    : null;
}

// After an update, a checkout lacks new dependencies until the user installs them.
function missingPackage(thrown: unknown): string | null {
  if (!(thrown instanceof Error && "specifier" in thrown)) return null;
  const { specifier } = thrown;
  return typeof specifier === "string" && /^[@\w]/.test(specifier) ? specifier : null;
}

function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf("--");
  return (end === -1 ? argv : argv.slice(0, end)).includes("--json");
}

function bugReport(thrown: unknown): string {
  const stack = thrown instanceof Error ? (thrown.stack ?? String(thrown)) : String(thrown);
  return `${withoutPasswords(stack)}\nerror: this is a bug in uncaged-workflow; hint: please report it with the lines above`;
}
