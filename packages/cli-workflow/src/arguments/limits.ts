import { show, WorkflowError } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { wholeNumber } from "./number.ts";

/** What a thread may spend on models. */
export type LimitOptions = { maxCost?: number; maxTokens?: number };

const mostTokens = 1_000_000_000_000;

/** Adds `--max-cost` and `--max-tokens`; `without` says what holds when they are left out. */
export function limitOptions(command: Command, without = "default: no limit"): Command {
  return command
    .option(
      "--max-cost <dollars>",
      `stop before the model call that could cost more in all (${without})`,
      dollars,
    )
    .option(
      "--max-tokens <n>",
      `stop before the model call that could take more tokens in all (${without})`,
      wholeNumber("--max-tokens", 1, mostTokens),
    );
}

/** The limits as options of a thread; none when none was given. */
export function limitsOf({ maxCost, maxTokens }: LimitOptions): Record<string, number> {
  return {
    ...(maxCost === undefined ? {} : { maxCost }),
    ...(maxTokens === undefined ? {} : { maxTokens }),
  };
}

function dollars(text: string): number {
  const number = /^\$?[0-9]{0,9}(\.[0-9]{1,9})?$/.test(text) ? Number(text.replace("$", "")) : 0;
  if (number > 0) return number;
  throw new WorkflowError({
    code: "BAD_OPTION",
    kind: "usage",
    message: `--max-cost can't be ${show(text)}`,
    hint: "give US dollars: --max-cost 2.50",
  });
}
