import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { entries } from "../src/program/catalogue.ts";
import { makeProgram } from "../src/program/program.ts";
import { Store, removeFolders } from "./program.ts";

afterAll(removeFolders);

const common = ["--json", "-q, --quiet", "--root <dir>", "--no-color", "-h, --help"];
const guide = readFileSync(join(import.meta.dir, "../../../docs/command-line.md"), "utf8");
const store = new Store();

/** Each command with its arguments, and its own options. */
const commands = new Map<string, string[]>();

beforeAll(async () => {
  const sink = { write: () => {}, terminal: false, columns: 80 };
  const { command: program, loadAll } = makeProgram({
    argv: [],
    env: {},
    cwd: () => "/",
    umask: 0o077,
    output: { results: sink, notes: sink },
    interruption: () => new AbortController().signal,
  });
  await loadAll();
  const visit = (command: Command, before: string) => {
    const words = command.registeredArguments.map((argument) => {
      const name = argument.name() + (argument.variadic ? "..." : "");
      return argument.required ? `<${name}>` : `[${name}]`;
    });
    const options = command.options.map(({ flags }) => flags);
    commands.set(
      [before + command.name(), ...words].join(" "),
      options.filter((flags) => !common.includes(flags)),
    );
    for (const each of command.commands) visit(each, `${before}${command.name()} `);
  };
  for (const command of program.commands) visit(command, "");
});

test("the commands and their options are these", () => {
  const lines = [...commands].map(([usage, options]) => [usage, ...options].join("  "));
  expect(lines.join("\n")).toMatchSnapshot();
});

test("the guide names each command and each option, and no other", () => {
  const documented = new Map<string, string[]>();
  let options: string[] = [];
  for (const line of guide.split("\n")) {
    const [, usage] = /^### `([^`]+)`$/.exec(line) ?? [];
    if (usage !== undefined) {
      options = [];
      documented.set(usage, options);
    }
    const [, flags] = /^- `(-[^`]+)`/.exec(line) ?? [];
    if (flags !== undefined) options.push(flags);
  }
  const shown = [...commands].filter(([usage]) => !usage.startsWith("__"));
  expect(documented).toEqual(new Map(shown));
});

test("the guide names each option that every command has", () => {
  for (const flags of common) expect(guide).toContain(`| \`${flags}\` |`);
});

test("the help of every command has an example of it", async () => {
  const names = entries.filter(({ hidden }) => !hidden).map(({ name }) => name);
  await Promise.all(
    [...names, "thread rm"].map(async (name) => {
      const { code, stdout, stderr } = await store.run([...name.split(" "), "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toStartWith(`Usage: uncaged-workflow ${name} `);
      expect(stdout).toMatch(new RegExp(`\nExamples?:\n.*uncaged-workflow ${name}`, "s"));
      expect(stdout).toContain("--json");
      expect(stdout).not.toContain("(default: [])");
    }),
  );
});

test("help and no command show the commands", async () => {
  const { code, stdout } = await store.run(["--help"]);
  expect(code).toBe(0);
  for (const { name, hidden } of entries) {
    if (!hidden) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
  }
  expect(stdout).not.toContain("__complete");
  expect(await store.run([])).toMatchObject({ code: 2, stdout: "" });
  expect((await store.run(["help", "fork"])).stdout).toContain("--from-role <role>");
});
