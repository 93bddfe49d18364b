import type { Command, Option } from "commander";
import { exitCodes } from "../output/exit-code.ts";
import { examplesOf } from "../session/command.ts";

/** Meaning of each exit code. */
const meanings: Record<keyof typeof exitCodes, string> = {
  done: "done",
  failed: "the command or its thread failed",
  usage: "wrong usage",
  belowThreshold: "an eval missed its threshold (--min-score, --min-pass)",
  missing: "not found",
  outOfRounds:
    "the thread is out of rounds: it was stopped at its limit of steps (--wait, --follow, follow)",
  waiting: "the thread waits for an answer (--wait, --follow, follow)",
  interrupted: "Ctrl-C",
  readerGone: "the reader of stdout closed it",
};

const exitMeanings = (Object.keys(meanings) as (keyof typeof exitCodes)[]).map(
  (name): [code: string, meaning: string] => [String(exitCodes[name]), meanings[name]],
);

const variables: [name: string, meaning: string][] = [
  ["UNCAGED_WORKFLOW_STORAGE_ROOT", "the storage root; --root takes precedence"],
  ["UNCAGED_WORKFLOW_IDLE_MS", "the time after which an idle worker exits, in milliseconds (3000)"],
  ["UNCAGED_PLAN_HOME", "the folder of plans; plans in the storage root by default"],
  ["NO_COLOR, TERM=dumb", "no colour; pipes never get colour"],
  ["VISUAL, EDITOR", "the editor of fork --edit"],
  ["TMPDIR", "the folder for builds and checks"],
];

/** Returns the manual page, in the man(7) format, of a program whose commands are all loaded. */
export function manualPage(program: Command, version: string): string {
  const groups = Map.groupBy(
    program.commands.filter((command) => !command.name().startsWith("__")),
    (command) => command.helpGroup().replace(/:$/, ""),
  );
  const name = program.name();
  return [
    `.TH ${name.toUpperCase()} 1 "" ${quoted(`${name} ${version}`)} "User Commands"`,
    section("NAME", `${text(name)} \\- ${text(lowered(program.description()))}`),
    section("SYNOPSIS", `.B ${text(name)}\n.I command\n[options]`),
    ".SH COMMANDS",
    ...[...groups].flatMap(([group, commands]) => [
      `.SS ${quoted(group)}`,
      ...commands.flatMap(withThoseBelow).map(commandText),
    ]),
    section(
      "OPTIONS OF EVERY COMMAND",
      program.options.filter(isCommon).map(optionText).join("\n"),
    ),
    section("EXIT STATUS", list(exitMeanings)),
    section("ENVIRONMENT", list(variables)),
    section("FILES", list([["~/.uncaged/workflow", "the default storage root"]])),
    "",
  ].join("\n");
}

/** Returns a command and its subcommands, without hidden subcommands. */
const withThoseBelow = (command: Command): Command[] =>
  command.name().startsWith("__") ? [] : [command, ...command.commands.flatMap(withThoseBelow)];

const common = new Set(["--json", "--root", "--no-color"]);
const isCommon = ({ long }: Option): boolean => common.has(long ?? "");

function commandText(command: Command): string {
  const words = [command.name()];
  for (let above = command.parent; above?.parent; above = above.parent) words.unshift(above.name());
  const operands = command.registeredArguments.map((argument) => {
    const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
    return `\\fI${text(argument.required ? name : `[${name}]`)}\\fR`;
  });
  const options = command.options.filter((option) => !isCommon(option) && !option.hidden);
  const examples = examplesOf(command);
  return [
    `.TP\n${[`\\fB${text(words.join(" "))}\\fR`, ...operands].join(" ")}`,
    line(command.description()),
    ...(options.length > 0 ? [".RS", ...options.map(optionText), ".RE"] : []),
    ...(examples.length > 0 ? [".RS", ".PP", ".nf", ...examples.map(line), ".fi", ".RE"] : []),
  ].join("\n");
}

const optionText = (option: Option): string => {
  const choices = option.argChoices ? ` (${option.argChoices.join(", ")})` : "";
  return `.TP\n\\fB${text(option.flags)}\\fR\n${line(`${option.description}${choices}`)}`;
};

const section = (title: string, body: string): string => `.SH ${quoted(title)}\n${body}`;

const list = (entries: readonly (readonly [string, string])[]): string =>
  entries.map(([name, meaning]) => `.TP\n\\fB${text(name)}\\fR\n${line(meaning)}`).join("\n");

const lowered = (sentence: string): string =>
  sentence.charAt(0).toLowerCase() + sentence.slice(1).replace(/\.$/, "");

/** Escapes a text so that it contains no roff requests or escapes. */
const text = (plain: string): string => plain.replaceAll("\\", "\\e").replaceAll("-", "\\-");
const line = (plain: string): string => text(plain).replace(/^[.']/, "\\&$&");
const quoted = (plain: string): string => `"${text(plain).replaceAll('"', "\\(dq")}"`;
