import type { Command, Option } from "commander";

export type Candidate = { value: string; about: string };

/** Input of a completion: the `current` word and the operands before it. */
export type Wanted = { current: string; operands: readonly string[] };

/**
 * Stored names and ids for completions. Steps and roles belong to the first operand's thread, versions to its workflow.
 */
export type Stored = Record<
  "workflow" | "thread" | "step" | "role" | "version" | "plan" | "secret" | "setting",
  (wanted: Wanted) => Promise<Candidate[]>
>;

/** Placeholder for file paths among the candidates. The shell completes the paths. */
const files: Candidate = { value: ":files", about: "" };

/**
 * Returns the completions of the last word, which may be empty. `words` are the words after the program's name. `load`
 * declares a command's arguments and options.
 */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  load: (command: Command) => Promise<void>,
  stored: Stored,
): Promise<Candidate[]> {
  const word = words.at(-1) ?? "";
  const { command, operands, option } = await positionOf(program, words.slice(0, -1), load);
  const ofOption = (given: Option, current: string) => {
    const [, name = ""] = /<([a-z]+)>/.exec(given.flags) ?? [];
    return valuesOf(given.argChoices, name, { current, operands }, stored);
  };
  if (option) return beginningWith(word, await ofOption(option, word));
  const [name, value] = splitOnce(word, "=");
  const assigned = name.startsWith("--") && value !== undefined && optionNamed(command, name);
  if (assigned) {
    const found = beginningWith(value, await ofOption(assigned, value));
    return found.map((each) =>
      each === files ? files : { ...each, value: `${name}=${each.value}` },
    );
  }
  if (word.startsWith("-")) return beginningWith(word, optionsOf(command));
  return beginningWith(word, await operandsOf(command, { current: word, operands }, stored));
}

function beginningWith(word: string, candidates: Candidate[]): Candidate[] {
  const wanted = word.toLowerCase();
  return candidates.filter((each) => each === files || each.value.toLowerCase().startsWith(wanted));
}

function splitOnce(text: string, separator: string): [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

const optionNamed = (command: Command, name: string): Option | undefined =>
  command.options.find(({ long, short }) => name === short || name === long);

type Position = { command: Command; operands: string[]; option: Option | null };

async function positionOf(
  program: Command,
  before: readonly string[],
  load: (command: Command) => Promise<void>,
): Promise<Position> {
  const position: Position = { command: program, operands: [], option: null };
  for (const word of before) {
    const { command, operands } = position;
    if (position.option) {
      position.option = null;
    } else if (word.startsWith("-")) {
      const [name] = splitOnce(word, "=");
      const option = optionNamed(command, name);
      if (option?.required && !word.includes("=")) position.option = option;
    } else {
      const sub =
        operands.length > 0 ? undefined : command.commands.find((each) => each.name() === word);
      if (sub?.parent === program) await load(sub);
      if (sub) position.command = sub;
      else operands.push(word);
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

async function operandsOf(command: Command, wanted: Wanted, stored: Stored): Promise<Candidate[]> {
  const before = wanted.operands.length;
  const { registeredArguments: declared, commands } = command;
  const last = declared.at(-1);
  const argument = declared[before] ?? (last?.variadic ? last : undefined);
  const name = argument?.name() ?? "";
  // In a comma-separated list, only the last item is completed.
  const done = name === "workflows" ? (/^.*,/.exec(wanted.current)?.[0] ?? "") : "";
  const own = { ...wanted, current: wanted.current.slice(done.length) };
  const found = await valuesOf(argument?.argChoices, name, own, stored);
  const values = done === "" ? found : found.map((each) => ({ ...each, value: done + each.value }));
  if (command.name() === "run" && name === "workflow") values.push(files);
  if (name === "workflows") values.push(files);
  const shown = before > 0 ? [] : commands.filter((each) => !each.name().startsWith("__"));
  return [...shown.map((each) => ({ value: each.name(), about: each.description() })), ...values];
}

/** Maps each placeholder in a declaration to the kind of value it means. */
const kinds: Record<string, keyof Stored | "file"> = {
  ...{ id: "thread", ids: "thread", a: "thread", b: "thread" },
  ...{ name: "workflow", workflow: "workflow", step: "step", role: "role", hash: "version" },
  ...{ workflows: "workflow", file: "file", dir: "file", dataset: "file", folder: "file" },
  ...{ plan: "plan", secret: "secret", setting: "setting" },
};

async function valuesOf(
  choices: readonly string[] | undefined,
  name: string,
  wanted: Wanted,
  stored: Stored,
): Promise<Candidate[]> {
  if (choices) return choices.map((value) => ({ value, about: "" }));
  const kind = kinds[name];
  if (kind === undefined) return [];
  if (kind === "file") return [files];
  const found = await stored[kind](wanted);
  return kind === "thread" ? [{ value: "@last", about: "the newest thread" }, ...found] : found;
}
