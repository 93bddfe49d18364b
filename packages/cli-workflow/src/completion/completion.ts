import type { Command, Option } from "commander";

/** A word that may come next, and what it means. */
export type Candidate = { value: string; about: string };

/** What the program itself doesn't know: the names and ids that are stored. Steps are those of a named thread. */
export type Stored = Record<"workflow" | "thread" | "step", () => Promise<Candidate[]>>;

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
  stored: Stored,
): Promise<Candidate[] | typeof files> {
  const current = words.at(-1) ?? "";
  const { command, operands, option } = await positionOf(program, words.slice(0, -1), load);
  if (option) {
    const [, name = ""] = /<([a-z]+)>/.exec(option.flags) ?? [];
    return matching(await valuesOf(option.argChoices, name, stored), current);
  }
  if (current.startsWith("-")) return matching(optionsOf(command), current);
  const { registeredArguments: declared } = command;
  const last = declared.at(-1);
  const argument = declared[operands] ?? (last?.variadic ? last : undefined);
  const values = await valuesOf(argument?.argChoices, argument?.name() ?? "", stored);
  if (values === files) return files;
  return matching([...(operands === 0 ? commandsOf(command) : []), ...values], current);
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

/** What the word in the brackets of a declaration expects. */
const kinds: Record<string, keyof Stored | typeof files> = {
  ...{ id: "thread", ids: "thread", a: "thread", b: "thread" },
  ...{ name: "workflow", workflow: "workflow", step: "step", file: files, dir: files },
};

async function valuesOf(
  choices: readonly string[] | undefined,
  name: string,
  stored: Stored,
): Promise<Candidate[] | typeof files> {
  if (choices) return choices.map((value) => ({ value, about: "" }));
  const kind = kinds[name];
  if (kind === files || kind === undefined) return kind ?? [];
  const found = await stored[kind]();
  return kind === "thread" ? [{ value: "@last", about: "the newest thread" }, ...found] : found;
}

function matching(
  candidates: Candidate[] | typeof files,
  current: string,
): Candidate[] | typeof files {
  if (candidates === files) return files;
  const wanted = current.toLowerCase();
  return candidates.filter(({ value }) => value.toLowerCase().startsWith(wanted));
}
