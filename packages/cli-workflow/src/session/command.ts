import type { Command } from "commander";
import {
  type CommonOptions,
  type Load,
  type OnCluster,
  type OnServer,
  Session,
  type World,
} from "./session.ts";
import { exitCodes } from "../output/exit-code.ts";

/** A command: its arguments and options, examples for its help, and its action. */
export type CommandDefinition<Options = never, Args extends unknown[] = never> = {
  declare?: (command: Command) => void;
  examples: string[];
  /** Runs the command and returns the exit code; undefined means 0. Missing for a command that only has subcommands. */
  run?: (
    session: Session,
    options: Options,
    ...args: Args
  ) => Promise<number | undefined> | Promise<void>;
  commands?: Record<string, Subcommand>;
  /** Undefined if the command also works on a cluster. Subcommands inherit the value. */
  onCluster?: OnCluster;
  /** Set if the command refuses a server. Subcommands inherit the value. */
  onServer?: OnServer;
};

/** A subcommand, with its line in the parent command's help. */
export type Subcommand = CommandDefinition & { summary: string };

export type CommandFile = { default: CommandDefinition };

export const defineCommand = <Options, Args extends unknown[]>(
  definition: CommandDefinition<Options, Args>,
): CommandDefinition => definition;

/** Like {@link defineCommand}, for a subcommand. */
export const defineSubcommand = <Options, Args extends unknown[]>(
  definition: CommandDefinition<Options, Args> & Pick<Subcommand, "summary">,
): Subcommand => definition;

const examplesByCommand = new WeakMap<Command, string[]>();

/** Returns the examples of a declared command. */
export const examplesOf = (command: Command): string[] => examplesByCommand.get(command) ?? [];

/** Declares a command for the parser. `done` receives the exit code after the run. */
export function declareCommand(
  command: Command,
  definition: CommandDefinition,
  world: World,
  load: Load,
  done: (exitCode: number) => void,
): void {
  const { declare, examples, commands = {}, onCluster, onServer } = definition;
  declare?.(command);
  examplesByCommand.set(command, examples);
  if (examples.length > 0) {
    const title = examples.length === 1 ? "Example" : "Examples";
    command.addHelpText("after", `\n${title}:\n${examples.map((line) => `  ${line}`).join("\n")}`);
  }
  for (const [name, { summary, ...own }] of Object.entries(commands)) {
    const added = command.command(name, { hidden: name.startsWith("__") }).description(summary);
    declareCommand(added, { onCluster, onServer, ...own }, world, load, done);
  }
  const { run } = definition as CommandDefinition<unknown, unknown[]>;
  if (!run) return;
  command.action(async (...given: unknown[]) => {
    const [options, ...args] = [given.at(-2), ...given.slice(0, -2)];
    const session = new Session(world, commonOptionsOf(command), { command, load });
    await session.findProject();
    try {
      await session.openHost(onCluster, onServer);
      done((await run(session, options, ...args)) ?? exitCodes.done);
    } catch (error) {
      throw session.explained(error);
    } finally {
      await session.close();
    }
  });
}

// An option may precede or follow the command's name. The later occurrence takes precedence.
function commonOptionsOf(command: Command): CommonOptions {
  const own: CommonOptions = command.opts();
  if (!command.parent) return own;
  const before = commonOptionsOf(command.parent);
  return {
    json: own.json ?? before.json,
    quiet: own.quiet ?? before.quiet,
    root: own.root ?? before.root,
    host: own.host ?? before.host,
    color: own.color !== false && before.color !== false,
  };
}
