import { Command } from "commander";
import { catalogue, type Entry, entries } from "./catalogue.ts";
import { type Perform, performer } from "./command.ts";
import type { World } from "./session.ts";

const about = "Run, watch, stop, resume, fork and roll back workflows.";

/** A program that can be parsed once, and the exit code that its command returned. */
export type Program = { command: Command; exitCode: () => number };

/**
 * The command line, with every command known by name and summary only: a command's own file is loaded
 * when that command is called. It prints help and nothing else; errors are thrown.
 */
export function makeProgram(world: World): Program {
  let exitCode = 0;
  const perform = performer(world, (code) => {
    exitCode = code;
  });
  const program = new Command("uncaged-workflow");
  quietly(program, world)
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
  for (const { group, entries: members } of catalogue) {
    program.commandsGroup(`${group}:`);
    for (const { name, summary, hidden } of members) {
      quietly(program.command(name, { hidden: hidden === true }), world).description(summary);
    }
  }
  program.hook("preSubcommand", (_program, command) => defineCommand(command, perform));
  return { command: program, exitCode: () => exitCode };
}

/** Loads the files of all commands, for who must know every option. */
export async function defineAll(program: Command): Promise<void> {
  const perform: Perform = () => async () => {};
  for (const command of program.commands) await defineCommand(command, perform);
}

/** Loads a command's file and makes the command know its arguments and options. */
export async function defineCommand(command: Command, perform: Perform): Promise<void> {
  const entry = entries.find(({ name }) => name === command.name());
  if (!entry) return;
  const file = await entry.load();
  file.define(command, perform);
  for (const each of [command, ...command.commands]) finish(each, entry);
}

function finish(command: Command, entry: Entry): void {
  command.copyInheritedSettings(command.parent ?? command);
  if (command.commands.length > 0) command.enablePositionalOptions();
  addCommonOptions(command, entry.quiet === true);
}

function addCommonOptions(command: Command, quiet: boolean): void {
  if (command.parent) command.optionsGroup("Common options:");
  command.option("--json", "print one JSON document, for programs");
  if (quiet) command.option("-q, --quiet", "print ids or names alone, one a line");
  command
    .option("--root <dir>", "the storage root (else $UNCAGED_WORKFLOW_STORAGE_ROOT)")
    .option("--no-color", "no colour; NO_COLOR=1 does the same");
  command.helpOption("-h, --help", "show this help");
}

function quietly(command: Command, world: World): Command {
  return command.exitOverride().configureOutput({
    writeOut: (text) => world.output.results.write(text),
    writeErr: () => {},
    outputError: () => {},
    getOutHelpWidth: () => Math.min(100, world.output.results.columns),
    getOutHasColors: () => false,
  });
}
