import type { Prewarmed } from "@uncaged/workflow/host";
import { processOutput, ReaderGone } from "../output/output.ts";
import { errorText, isHelp, recordOf, reportFailure } from "../session/failure.ts";
import type { World } from "../session/session.ts";
import { entries } from "./catalogue.ts";
import { makeProgram } from "./program.ts";

/** The exit code that a shell reports for a program that SIGPIPE has ended. */
const brokenPipe = 141;

/** Runs the command that this process was called for, and gives its exit code. */
export async function main(umask: number, prewarmed: Prewarmed | null): Promise<number> {
  const world = processWorld(umask, prewarmed);
  try {
    const program = makeProgram(world);
    if (world.argv.length === 0) {
      world.output.notes.write(program.command.helpInformation());
      return 2;
    }
    await program.command.parseAsync(wordsOf(world.argv), { from: "user" });
    return program.exitCode();
  } catch (thrown) {
    return failed(thrown, world);
  }
}

function failed(thrown: unknown, world: World): number {
  if (isHelp(thrown)) return 0;
  if (thrown instanceof ReaderGone) return brokenPipe;
  try {
    const command = entries.find(({ name }) => world.argv.includes(name))?.name;
    return reportFailure(thrown, world, command);
  } catch (error) {
    if (error instanceof ReaderGone) return brokenPipe;
    // The stdout that takes no result takes no `--json` error either.
    world.output.notes.write(errorText(recordOf(error)));
    return 1;
  }
}

// `--version` and `help <command>` are written as the command is that does the work: commander would
// answer before that command's file is loaded.
function wordsOf(argv: readonly string[]): string[] {
  const at = argv.findIndex((arg) => arg === "-V" || arg === "--version" || !arg.startsWith("-"));
  const [word, next] = [argv[at], argv[at + 1]];
  if (word?.startsWith("-")) return argv.with(at, "version");
  if (word === "help" && next !== undefined) return [...argv.slice(at + 1), "--help"];
  return [...argv];
}

function processWorld(umask: number, prewarmed: Prewarmed | null): World {
  let interruption: AbortController | null = null;
  return {
    argv: process.argv.slice(2),
    env: process.env as Record<string, string>,
    cwd: () => process.cwd(),
    output: processOutput(),
    umask,
    prewarmed,
    interruption() {
      if (!interruption) {
        const controller = new AbortController();
        process.once("SIGINT", () => controller.abort());
        interruption = controller;
      }
      return interruption.signal;
    },
  };
}
