import type { Command } from "commander";
import { type CommonOptions, type Load, Session, type World } from "./session.ts";

/** A command: its arguments and options, examples of it for its help, and what it does. */
export type CommandDefinition<Options = never, Args extends unknown[] = never> = {
  declare?: (command: Command) => void;
  examples: string[];
  /** Returns the exit code, 0 when it returns nothing. */
  run(
    session: Session,
    options: Options,
    ...args: Args
  ): Promise<number | undefined> | Promise<void>;
  commands?: Record<string, CommandDefinition & { summary: string }>;
};

export type CommandFile = { default: CommandDefinition };

export const defineCommand = <Options, Args extends unknown[]>(
  definition: CommandDefinition<Options, Args>,
): CommandDefinition => definition;

/** Declares a command for the parser; `done` gets the exit code when it has run. */
export function declareCommand(
  command: Command,
  definition: CommandDefinition,
  world: World,
  load: Load,
  done: (exitCode: number) => void,
): void {
  const { declare, examples, commands = {} } = definition;
  declare?.(command);
  if (examples.length > 0) {
    const title = examples.length === 1 ? "Example" : "Examples";
    command.addHelpText("after", `\n${title}:\n${examples.map((line) => `  ${line}`).join("\n")}`);
  }
  command.action(async (...given: unknown[]) => {
    const [options, ...args] = [given.at(-2), ...given.slice(0, -2)];
    const session = new Session(world, commonOptionsOf(command), { command, load });
    const called = definition as CommandDefinition<unknown, unknown[]>;
    done((await called.run(session, options, ...args)) ?? 0);
  });
  for (const [name, own] of Object.entries(commands)) {
    declareCommand(command.command(name).description(own.summary), own, world, load, done);
  }
}

// An option may precede the command's name or follow it; the later one counts.
function commonOptionsOf(command: Command): CommonOptions {
  const own: CommonOptions = command.opts();
  if (!command.parent) return own;
  const before = commonOptionsOf(command.parent);
  return {
    json: own.json ?? before.json,
    quiet: own.quiet ?? before.quiet,
    root: own.root ?? before.root,
    color: own.color !== false && before.color !== false,
  };
}
