import { Command } from "commander";
import { declareCommand } from "../session/command.ts";
import type { World } from "../session/session.ts";
import { entries } from "./catalogue.ts";

const about = "Run, watch, stop, resume, fork and roll back workflows.";

/** A program that can be parsed once, the exit code that its command returned, and all of its options. */
export type Program = {
  command: Command;
  exitCode: () => number;
  /** Loads the files of all commands, for a caller that must know every option. */
  loadAll: () => Promise<void>;
};

/**
 * The command line, with every command known by name and summary only: a command's own file is loaded when
 * that command is called. It prints help and nothing else; errors are thrown.
 */
export function makeProgram(world: World): Program {
  let exitCode = 0;
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
    for (const each of [command, ...command.commands]) {
      each.copyInheritedSettings(each.parent ?? each);
      if (each.commands.length > 0) each.enablePositionalOptions();
      addCommonOptions(each, entry.quiet);
    }
  };
  program.hook("preSubcommand", (_program, command) => load(command));
  const loadAll = async () => {
    for (const command of program.commands) await load(command);
  };
  return { command: program, exitCode: () => exitCode, loadAll };
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

// Commander prints help alone: what it has to report is thrown.
function silence(command: Command, world: World): Command {
  return command.exitOverride().configureOutput({
    writeOut: (text) => world.output.results.write(text),
    writeErr: () => {},
    outputError: () => {},
    getOutHelpWidth: () => Math.min(100, world.output.results.columns),
    getOutHasColors: () => false,
  });
}
