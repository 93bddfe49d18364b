import type { Argument, Command, Option } from "commander";

/** A word that may come next, and what it means. */
export type Candidate = { value: string; about: string };

/** What the program itself doesn't know: the store's names and ids. */
export type Dynamic = {
  workflows(): Promise<Candidate[]>;
  threads(): Promise<Candidate[]>;
  /** Those of the thread that the command line names. */
  steps(): Promise<Candidate[]>;
};

/** Stands for candidates where a path is expected: the shell completes those best. */
export const files = "files" as const;

/**
 * What the last word, which may be empty, can be completed to. `words` are those after the program's
 * name; `load` declares a command's arguments and options.
 */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
  dynamic: Dynamic,
): Promise<Candidate[] | typeof files> {
  const current = words.at(-1) ?? "";
  const position = await positionOf(program, words.slice(0, -1), load);
  if (position.option) return matching(await valuesOf(position.option, dynamic), current);
  if (current.startsWith("-")) return matching(optionsOf(position.command), current);
  const argument = argumentAt(position.command, position.operands);
  const subcommands = position.operands === 0 ? commandsOf(position.command) : [];
  const values = argument ? await argumentValues(argument, dynamic) : [];
  if (values === files) return files;
  return matching([...subcommands, ...values], current);
}

type Position = { command: Command; operands: number; option: Option | null };

async function positionOf(
  program: Command,
  before: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<Position> {
  const position: Position = { command: program, operands: 0, option: null };
  for (const word of before) {
    if (position.option) {
      position.option = null;
      continue;
    }
    if (word.startsWith("-")) {
      const option = findOption(position.command, word);
      position.option = option?.required && !word.includes("=") ? option : null;
      continue;
    }
    const sub = position.operands === 0 ? findCommand(position.command, word) : undefined;
    if (sub) {
      position.command = sub;
      if (sub.parent === program) await load(sub);
    } else {
      position.operands += 1;
    }
  }
  return position;
}

const findOption = (command: Command, word: string): Option | undefined =>
  command.options.find(({ long, short }) => word === short || word.split("=")[0] === long);

const findCommand = (command: Command, word: string): Command | undefined =>
  command.commands.find((each) => each.name() === word);

function argumentAt(command: Command, index: number): Argument | undefined {
  const list = command.registeredArguments;
  const last = list.at(-1);
  return list[index] ?? (last?.variadic ? last : undefined);
}

function commandsOf(command: Command): Candidate[] {
  return command.commands
    .filter((each) => !each.name().startsWith("__"))
    .map((each) => ({ value: each.name(), about: each.description() }));
}

function optionsOf(command: Command): Candidate[] {
  const list = command.options.map(({ long, description }) => ({
    value: long ?? "",
    about: description,
  }));
  return [...list, { value: "--help", about: "show the help" }];
}

async function valuesOf(option: Option, dynamic: Dynamic): Promise<Candidate[] | typeof files> {
  if (option.argChoices) return option.argChoices.map(bare);
  return await valuesNamed(/<([a-z]+)>/.exec(option.flags)?.[1] ?? "", dynamic);
}

async function argumentValues(
  argument: Argument,
  dynamic: Dynamic,
): Promise<Candidate[] | typeof files> {
  if (argument.argChoices) return argument.argChoices.map(bare);
  return await valuesNamed(argument.name(), dynamic);
}

// The word in the brackets of a declaration names what is expected there.
async function valuesNamed(name: string, dynamic: Dynamic): Promise<Candidate[] | typeof files> {
  switch (name) {
    case "id":
    case "ids":
    case "a":
    case "b":
      return [{ value: "@last", about: "the newest thread" }, ...(await dynamic.threads())];
    case "name":
    case "workflow":
      return await dynamic.workflows();
    case "step":
      return await dynamic.steps();
    case "file":
    case "dir":
      return files;
    default:
      return [];
  }
}

const bare = (value: string): Candidate => ({ value, about: "" });

function matching(
  candidates: Candidate[] | typeof files,
  current: string,
): Candidate[] | typeof files {
  if (candidates === files) return files;
  const wanted = current.toLowerCase();
  return candidates.filter(({ value }) => value.toLowerCase().startsWith(wanted));
}
