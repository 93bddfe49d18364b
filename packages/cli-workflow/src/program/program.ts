import { openLocalHost } from "@uncaged/workflow/host";
import { Command } from "commander";
import { exitCodes } from "../output/exit-code.ts";
import { processOutput, ReaderGone } from "../output/output.ts";
import { declareCommand } from "../session/command.ts";
import { errorText, isHelp, recordOf, reportFailure } from "../session/failure.ts";
import type { World } from "../session/session.ts";
import { entries, quiet } from "./catalogue.ts";

/** Runs the command line of this process and returns its exit code. */
export const main = (): Promise<number> => runProgram(processWorld(process.umask(0o077)));

/** Runs the command named by a world's arguments and returns its exit code. Never ends the process. */
export async function runProgram(world: World): Promise<number> {
  const program = makeProgram(world);
  try {
    if (world.argv.length === 0) {
      world.output.notes.write(program.command.helpInformation());
      return exitCodes.usage;
    }
    await program.command.parseAsync(wordsOf(world.argv), { from: "user" });
    return program.exitCode();
  } catch (thrown) {
    return failed(thrown, world, program.command);
  }
}

function failed(thrown: unknown, world: World, program: Command): number {
  if (isHelp(thrown)) return exitCodes.done;
  if (thrown instanceof ReaderGone) return exitCodes.readerGone;
  try {
    return reportFailure(thrown, world, commandIn(program, world.argv));
  } catch (error) {
    if (error instanceof ReaderGone) return exitCodes.readerGone;
    // If stdout rejected the result, it would also reject a `--json` error.
    world.output.notes.write(errorText(recordOf(error)));
    return exitCodes.failed;
  }
}

/** Returns the words of the called command, without its operands: `plan secret set`. */
function commandIn(program: Command, argv: readonly string[]): string | undefined {
  const named = (command: Command, word: string) =>
    command.commands.find((each) => each.name() === word);
  const first = argv.findIndex((word) => named(program, word));
  const words: string[] = [];
  let found: Command | undefined = program;
  for (const word of first < 0 ? [] : argv.slice(first)) {
    found = found && named(found, word);
    if (!found) break;
    words.push(word);
  }
  return words.length === 0 ? undefined : words.join(" ");
}

// Rewrites `--version` and `help <command>` to the command that implements them, because commander would answer before
// the command's file is loaded.
function wordsOf(argv: readonly string[]): string[] {
  const at = argv.findIndex((arg) => arg === "-V" || arg === "--version" || !arg.startsWith("-"));
  const [word, next] = [argv[at], argv[at + 1]];
  if (word?.startsWith("-")) return argv.with(at, "version");
  if (word === "help" && next !== undefined) return [...argv.slice(at + 1), ...helpOf(next)];
  const isUnknown = at === 0 && word !== undefined && word !== "help" && helpOf(word).length === 0;
  return isUnknown ? [word] : [...argv];
}

// No option for an unknown command, so that commander refuses the command and suggests similar names.
const helpOf = (word = ""): string[] =>
  entries.some(({ name }) => name === word) ? ["--help"] : [];

function processWorld(umask: number): World {
  let interruption: AbortController | null = null;
  return {
    argv: process.argv.slice(2),
    env: process.env as Record<string, string>,
    cwd: () => process.cwd(),
    output: processOutput(),
    umask,
    openRoot: openLocalHost,
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

const about = "Run, watch, stop, resume, fork and roll back workflows.";

/** Parser of one command line. `exitCode` returns the exit code of the command that ran. */
type Program = {
  command: Command;
  exitCode: () => number;
  /** Loads the files of all commands, for callers that need every option. */
  loadAll: () => Promise<void>;
};

/**
 * Creates the command line with only the name and summary of each command. Loads a command's file when the command is
 * called. Prints only help; throws errors.
 */
export function makeProgram(world: World): Program {
  let exitCode: number = exitCodes.done;
  const program = new Command("uncaged-workflow");
  silence(program, world)
    .description(about)
    .enablePositionalOptions()
    .configureHelp({ subcommandTerm: (command) => command.name(), showGlobalOptions: false })
    .optionsGroup("Options:")
    .option("-V, --version", "print the version")
    .helpCommand("help [command]", "show the help of a command")
    .addHelpText(
      "after",
      "\nExample:\n  uncaged-workflow run review --prompt 'Look at src' --follow",
    );
  addCommonOptions(program, false);
  for (const { name, group, summary, hidden } of entries) {
    program.commandsGroup(`${group}:`);
    silence(program.command(name, { hidden }), world).description(summary);
  }
  const load = async (command: Command): Promise<void> => {
    const entry = entries.find(({ name }) => name === command.name());
    if (!entry) return;
    const { default: definition } = await entry.load();
    declareCommand(command, definition, world, load, (code) => {
      exitCode = code;
    });
    complete(command, entry.name);
  };
  program.hook("preSubcommand", (_program, command) => load(command));
  const loadAll = async () => {
    for (const command of program.commands) await load(command);
  };
  return { command: program, exitCode: () => exitCode, loadAll };
}

/** Adds the common options to a command and its subcommands. */
function complete(command: Command, name: string): void {
  command.copyInheritedSettings(command.parent ?? command);
  addCommonOptions(command, quiet.has(name));
  if (command.commands.length === 0) return;
  command.enablePositionalOptions().helpCommand(false);
  for (const each of command.commands) complete(each, `${name} ${each.name()}`);
}

function addCommonOptions(command: Command, isQuiet: boolean): void {
  if (command.parent) command.optionsGroup("Common options:");
  command.option("--json", "print one JSON document, for programs");
  if (isQuiet) command.option("-q, --quiet", "print only ids or names, one per line");
  command
    .option("--root <dir>", "the storage root (else $UNCAGED_WORKFLOW_STORAGE_ROOT)")
    .option(
      "--host <url>",
      "a cluster (restate://host:port), database (postgres://user@host/name) or server (https://host); else $UNCAGED_WORKFLOW_HOST",
    )
    .option("--no-color", "no colour; NO_COLOR=1 does the same");
  command.helpOption("-h, --help", "show this help");
}

// Commander prints only help, and throws all errors.
function silence(command: Command, world: World): Command {
  return command.exitOverride().configureOutput({
    writeOut: (text) => world.output.results.write(text),
    writeErr: () => {},
    outputError: () => {},
    getOutHelpWidth: () => Math.min(100, world.output.results.columns),
    getOutHasColors: () => false,
  });
}
