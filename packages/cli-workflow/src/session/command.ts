import type { Command } from "commander";
import { type CommonOptions, Session, type World } from "./session.ts";

/** What a command does. It returns the exit code, 0 when it returns nothing. */
export type Action<Options, Args extends unknown[]> = (
  session: Session,
  options: Options,
  ...args: Args
) => Promise<number | undefined> | Promise<void>;

/** Makes an action one that commander can call. */
export type Perform = <Options, Args extends unknown[]>(
  action: Action<Options, Args>,
) => (...given: unknown[]) => Promise<void>;

/**
 * A command's file: it declares arguments, options and examples, and names its action. `load` declares
 * those of another command.
 */
export type CommandFile = {
  define(command: Command, perform: Perform, load: (other: Command) => Promise<void>): void;
};

/** Adds examples to a command's help. */
export function examples(command: Command, ...lines: string[]): void {
  const list = lines.map((line) => `  ${line}`).join("\n");
  command.addHelpText("after", `\nExample${lines.length === 1 ? "" : "s"}:\n${list}`);
}

/** The {@link Perform} of a program; `done` gets each exit code. */
export function performer(world: World, done: (exitCode: number) => void): Perform {
  return (action) =>
    async (...given) => {
      const command = given.pop() as Command;
      const options = given.pop();
      const session = new Session(world, commonOptionsOf(command));
      const call = action as Action<unknown, unknown[]>;
      done((await call(session, options, ...given)) ?? 0);
    };
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
