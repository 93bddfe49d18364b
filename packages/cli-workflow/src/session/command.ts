import type { Command } from "commander";
import { type CommonOptions, Session, type World } from "./session.ts";

/** What a command does. It returns the exit code, 0 when it returns nothing. */
type Action<Options, Args extends unknown[]> = (
  session: Session,
  options: Options,
  ...args: Args
) => Promise<number | undefined> | Promise<void>;

/** A command: its arguments and options, examples of it for its help, and what it does. */
export type CommandDefinition<Options = never, Args extends unknown[] = never> = {
  declare?: (command: Command) => void;
  examples: string[];
  run: Action<Options, Args>;
  /** Commands of its own, by their names. */
  commands?: Record<string, CommandDefinition & { summary: string }>;
};

/** A command's file. */
export type CommandFile = { default: CommandDefinition };

/** Checks the types of a command's definition. */
export const defineCommand = <Options, Args extends unknown[]>(
  definition: CommandDefinition<Options, Args>,
): CommandDefinition => definition;

/** Loads the file of a command that is known by its name alone. */
export type Load = (command: Command) => Promise<void>;

/** Declares a command for the parser; `done` gets the exit code when it has run. */
export function declareCommand(
  command: Command,
  { declare, examples, run, commands = {} }: CommandDefinition,
  world: World,
  load: Load,
  done: (exitCode: number) => void,
): void {
  declare?.(command);
  if (examples.length > 0) {
    const title = examples.length === 1 ? "Example" : "Examples";
    command.addHelpText("after", `\n${title}:\n${examples.map((line) => `  ${line}`).join("\n")}`);
  }
  command.action(async (...given: unknown[]) => {
    given.pop();
    const options = given.pop();
    const session = new Session(world, commonOptionsOf(command), { command, load });
    done((await (run as Action<unknown, unknown[]>)(session, options, ...given)) ?? 0);
  });
  for (const [name, definition] of Object.entries(commands)) {
    const own = command.command(name).description(definition.summary);
    declareCommand(own, definition, world, load, done);
  }
}

// An option may precede the command's name or follow it; the later one counts.
function commonOptionsOf(command: Command): CommonOptions {
  const chain: CommonOptions[] = [];
  for (let each: Command | null = command; each; each = each.parent) chain.unshift(each.opts());
  const merged: CommonOptions = {};
  for (const options of chain) {
    for (const [name, value] of Object.entries(options)) {
      if (value !== undefined) Object.assign(merged, { [name]: value });
    }
  }
  return { ...merged, color: chain.every(({ color }) => color !== false) };
}
