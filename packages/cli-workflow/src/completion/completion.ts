import type { Argument, Command, Option } from "commander";

/** What may stand next: a word, and what it means. */
export type Candidate = { value: string; about: string };

/** What is not known from the program itself: the store's names and ids. */
export type Dynamic = {
  workflows(): Promise<Candidate[]>;
  threads(): Promise<Candidate[]>;
  /** Those of the thread that the command line names. */
  steps(): Promise<Candidate[]>;
};

/** Said instead of candidates where a path stands: the shell completes those best. */
export const files = "files" as const;

/**
 * What may stand in the place of the last word, which may be empty. `words` are those after the
 * program's name; `load` makes a command know its arguments and options.
 */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
  dynamic: Dynamic,
): Promise<Candidate[] | typeof files> {
  const current = words.at(-1) ?? "";
  const place = await placeOf(program, words.slice(0, -1), load);
  if (place.option) return matching(await valuesOf(place.option, dynamic), current);
  if (current.startsWith("-")) return matching(optionsOf(place.command), current);
  const argument = argumentAt(place.command, place.operands);
  const subcommands = place.operands === 0 ? commandsOf(place.command) : [];
  const values = argument ? await argumentValues(argument, dynamic) : [];
  if (values === files) return files;
  return matching([...subcommands, ...values], current);
}

type Place = { command: Command; operands: number; option: Option | null };

async function placeOf(
  program: Command,
  before: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<Place> {
  const place: Place = { command: program, operands: 0, option: null };
  for (const word of before) {
    if (place.option) {
      place.option = null;
      continue;
    }
    if (word.startsWith("-")) {
      const option = findOption(place.command, word);
      place.option = option?.required && !word.includes("=") ? option : null;
      continue;
    }
    const sub = place.operands === 0 ? findCommand(place.command, word) : undefined;
    if (sub) {
      place.command = sub;
      if (sub.parent === program) await load(sub);
    } else {
      place.operands += 1;
    }
  }
  return place;
}

const findOption = (command: Command, word: string): Option | undefined =>
  command.options.find(({ long, short }) => word === short || word.split("=")[0] === long);

const findCommand = (command: Command, word: string): Command | undefined =>
  command.commands.find((each) => each.name() === word);

function argumentAt(command: Command, place: number): Argument | undefined {
  const list = command.registeredArguments;
  const last = list.at(-1);
  return list[place] ?? (last?.variadic ? last : undefined);
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

// The word in the brackets of a declaration says what stands there.
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
