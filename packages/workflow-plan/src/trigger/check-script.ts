import { type ChildEnd, runChild } from "@uncaged/workflow-agents/interpreter";
import { TriggerError } from "../error/error.ts";
import { checkFailed, checkLimited, checkNotRun, outputTooLong } from "./errors.ts";

/** A check script's command: `sh -c` with the script, in the sandbox of the plan's steps. */
export type CheckCommand = {
  argv: readonly string[];
  cwd: string;
  /** The whole environment. */
  env: Readonly<Record<string, string>>;
  /** Open descriptors, passed from number 3 on. */
  descriptors?: readonly number[];
  /** Replaces text that must not be stored. */
  mask?: (text: string) => string;
  /** Called with the process id after the start. */
  onStarted?: (pid: number) => void;
  /** Aborted if the script exceeds a limit, with an error that names the limit. */
  exceeded?: AbortSignal;
  /** Called when the script has ended. */
  end?: () => void | Promise<void>;
};

/** The limits of a check's time and output. */
export type CheckLimits = { timeoutMs?: number; maxBytes?: number };

const graceMs = 500;
const mostErrorCharacters = 300;

/**
 * Runs a check script to its end and returns the output. Ends all processes of the script. The script's input is empty.
 * @throws TriggerError with a one-line message if the script fails, takes too long or prints too much.
 */
export async function runCheck(
  command: CheckCommand,
  stop: AbortSignal,
  { timeoutMs = 30_000, maxBytes = 1024 * 1024 }: CheckLimits = {},
): Promise<string> {
  const { argv, cwd, descriptors, end: onEnd, env, exceeded, onStarted } = command;
  const { mask = (text) => text } = command;
  const signal = exceeded ? AbortSignal.any([stop, exceeded]) : stop;
  const output: Uint8Array[] = [];
  let length = 0;
  let complaint = "";
  const onOutput = (chunk: Uint8Array) => {
    output.push(chunk);
    length += chunk.length;
    if (length > maxBytes) throw outputTooLong(maxBytes);
  };
  const onError = (chunk: Uint8Array) => {
    complaint = `${complaint}${Buffer.from(chunk).toString()}`.slice(-4 * mostErrorCharacters);
  };
  let end: ChildEnd;
  try {
    end = await runChild({
      ...{ argv, cwd, descriptors, env, graceMs, signal, timeoutMs },
      ...{ onStarted, onOutput, onError },
    });
  } catch (error) {
    throw error instanceof TriggerError ? error : cannotRun(error);
  } finally {
    await onEnd?.();
  }
  if (exceeded?.aborted) throw checkLimited((exceeded.reason as Error).message);
  const problem = problemOf(end, timeoutMs);
  if (problem === null) return mask(Buffer.concat(output).toString());
  const shown = mask(complaint)
    .replace(/\s+/g, " ")
    .trim()
    .slice(-mostErrorCharacters)
    .toWellFormed();
  throw checkFailed(problem, shown);
}

function problemOf({ by, exitCode, signal }: ChildEnd, timeoutMs: number): string | null {
  if (by === "timeout") return `took longer than ${timeoutMs / 1000} seconds and was ended`;
  if (by === "abort") return "was ended";
  if (signal !== null) return `was ended by ${signal}`;
  return exitCode === 0 ? null : `failed with exit code ${exitCode}`;
}

function cannotRun(cause: unknown): TriggerError {
  const reason = cause instanceof Error ? cause.message : String(cause);
  return checkNotRun(reason, cause);
}
