import { defaultMaxRounds, mostRounds } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { wholeNumber } from "./number.ts";

/** Adds `--max-rounds`, with the default that it has when it is left out. */
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
