import type { Command, Option } from "commander";

export type Candidate = { value: string; about: string };

/** What the program itself doesn't know: the names and ids that are stored. Steps are those of a named thread. */
export type Stored = Record<"workflow" | "thread" | "step", () => Promise<Candidate[]>>;

/** Stands for the paths of files: the shell completes those best. */
const files: Candidate = { value: ":files", about: "" };

/**
 * What the last word, which may be empty, can be completed to. `words` are those after the program's name;
 * `load` declares a command's arguments and options.
 */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
  stored: Stored,
): Promise<Candidate[]> {
  const current = (words.at(-1) ?? "").toLowerCase();
  const { command, operands, option } = await positionOf(program, words.slice(0, -1), load);
  const possible = async (): Promise<Candidate[]> => {
    const [, name = ""] = /<([a-z]+)>/.exec(option?.flags ?? "") ?? [];
    if (option) return await valuesOf(option.argChoices, name, stored);
    if (current.startsWith("-")) return optionsOf(command);
    return await operandsOf(command, operands, stored);
  };
  return (await possible()).filter(
    (each) => each === files || each.value.toLowerCase().startsWith(current),
  );
}

type Position = { command: Command; operands: number; option: Option | null };

async function positionOf(
  program: Command,
  before: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<Position> {
  const position: Position = { command: program, operands: 0, option: null };
  for (const word of before) {
    const { command, operands } = position;
    if (position.option) {
      position.option = null;
    } else if (word.startsWith("-")) {
      const [name] = word.split("=");
      const option = command.options.find(({ long, short }) => word === short || name === long);
      if (option?.required && !word.includes("=")) position.option = option;
    } else {
      const sub = operands > 0 ? undefined : command.commands.find((each) => each.name() === word);
      if (sub?.parent === program) await load(sub);
      if (sub) position.command = sub;
      else position.operands += 1;
    }
  }
  return position;
}

function optionsOf(command: Command): Candidate[] {
  const list = command.options.map(({ long, description: about }) => ({
    value: long ?? "",
    about,
  }));
  return [...list, { value: "--help", about: "show the help" }];
}

async function operandsOf(command: Command, before: number, stored: Stored): Promise<Candidate[]> {
  const { registeredArguments: declared, commands } = command;
  const last = declared.at(-1);
  const argument = declared[before] ?? (last?.variadic ? last : undefined);
  const values = await valuesOf(argument?.argChoices, argument?.name() ?? "", stored);
  const shown = before > 0 ? [] : commands.filter((each) => !each.name().startsWith("__"));
  return [...shown.map((each) => ({ value: each.name(), about: each.description() })), ...values];
}

/** What the word in the brackets of a declaration expects. */
const kinds: Record<string, keyof Stored | "file"> = {
  ...{ id: "thread", ids: "thread", a: "thread", b: "thread" },
  ...{ name: "workflow", workflow: "workflow", step: "step", file: "file", dir: "file" },
};

async function valuesOf(
  choices: readonly string[] | undefined,
  name: string,
  stored: Stored,
): Promise<Candidate[]> {
  if (choices) return choices.map((value) => ({ value, about: "" }));
  const kind = kinds[name];
  if (kind === undefined) return [];
  if (kind === "file") return [files];
  const found = await stored[kind]();
  return kind === "thread" ? [{ value: "@last", about: "the newest thread" }, ...found] : found;
}
