import { defaultMaxRounds, mostRounds } from "@uncaged/workflow/internal";
import { type Command, Option } from "commander";
import { grouped, unitMs } from "../output/text.ts";
import { badOption } from "../session/errors.ts";
import type { Session } from "../session/session.ts";
import { jsonOf, promptOf } from "./values.ts";

/**
 * Returns a parser for a whole-number option with inclusive bounds. The parser throws `BAD_OPTION` (usage), which names
 * the option and the range.
 */
export function wholeNumber(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\+?[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw badOption(option, text, `give a whole number from ${grouped(least)} to ${grouped(most)}`);
  };
}

/**
 * Parses a time option to milliseconds since the epoch: a span before now (`30s`, `5m`, `2h`, `1d`) or an ISO 8601 date
 * or time.
 */
export function timeOf(option: string, text: string, now: number): number {
  const [, amount, unit = ""] = /^([0-9]{1,9})([smhd])$/.exec(text) ?? [];
  if (amount !== undefined) return now - Number(amount) * unitMs(unit);
  const time = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(time)) return time;
  throw badOption(option, text, "give a span (30s, 5m, 2h, 1d) or a time (2026-05-06T12:00:00Z)");
}

export const collect = (value: string, values: string[] = []): string[] => [...values, value];

export function maxRoundsOption(
  command: Command,
  without = `default: the workflow's own, else ${defaultMaxRounds}`,
): Command {
  return command.option(
    "--max-rounds <n>",
    `the most steps that the thread may have (${without})`,
    wholeNumber("--max-rounds", 1, mostRounds),
  );
}

type LimitOptions = { maxCost?: number; maxTokens?: number };

const mostTokens = 1_000_000_000_000;

export function limitOptions(command: Command, without = "default: no limit"): Command {
  return command
    .option(
      "--max-cost <dollars>",
      `stop before the model call whose cost could exceed this total (${without})`,
      dollars("--max-cost"),
    )
    .option(
      "--max-tokens <n>",
      `stop before the model call whose tokens could exceed this total (${without})`,
      wholeNumber("--max-tokens", 1, mostTokens),
    );
}

/** Returns a parser for an amount in US dollars. The parser throws `BAD_OPTION` (usage). */
export function dollars(option: string): (text: string) => number {
  return (text) => {
    const number = /^\$?[0-9]{0,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text.replace("$", "")) : 0;
    if (number > 0) return number;
    throw badOption(option, text, `give US dollars: ${option} 2.50`);
  };
}

export type StartOptions = { durability?: "step" | "os"; wait?: boolean; follow?: boolean };

export function durabilityOption(command: Command): Command {
  return command.addOption(
    new Option(
      "--durability <level>",
      "commit a step when it is on the disk (step), or in the system's cache (os)",
    ).choices(["step", "os"]),
  );
}

export function startOptions(command: Command): Command {
  return durabilityOption(command)
    .addOption(new Option("--wait", "wait for the end and exit with its return code"))
    .addOption(new Option("--follow", "show the thread live").conflicts("wait"));
}

export type ForkOptions = StartOptions &
  LimitOptions & {
    prompt?: string;
    promptFile?: string;
    params?: string;
    maxRounds?: number;
    on?: string;
  };

export function forkOptions(command: Command): Command {
  command
    .option("--prompt <text>", "another prompt; - reads it from stdin")
    .option("--prompt-file <file>", "another prompt: the text of this file")
    .option("--params <json>", "other params: JSON, or @file");
  maxRoundsOption(command, "default: the thread's limit").option(
    "--on <workflow>",
    "continue on another version: a name, name@hash or a hash",
  );
  return startOptions(limitOptions(command, "default: the thread's limit"));
}

export async function changesOf(session: Session, options: ForkOptions) {
  const { maxCost, maxTokens, maxRounds, durability, on } = options;
  const limits = {
    ...(maxCost === undefined ? {} : { maxCost }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  };
  const prompt = await promptOf(options);
  const params =
    options.params === undefined ? undefined : await jsonOf("--params", options.params);
  const traceparent = session.env.TRACEPARENT;
  return {
    env: session.env,
    prompt,
    params,
    maxRounds,
    options: limits,
    durability,
    on,
    traceparent,
  };
}
