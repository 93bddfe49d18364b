import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { openLocalHost } from "@uncaged/workflow/host";
import type { Command } from "commander";
import { entries } from "../src/program/catalogue.ts";
import { makeProgram } from "../src/program/program.ts";
import { Store, removeFolders } from "./program.ts";

afterAll(removeFolders);

const common = [
  "--json",
  "-q, --quiet",
  "--root <dir>",
  "--host <url>",
  "--no-color",
  "-h, --help",
];
const guide = readFileSync(
  join(import.meta.dir, "../../../docs/reference/command-line.md"),
  "utf8",
);
const store = new Store();

/** The arguments and own options of each command. */
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
    openRoot: openLocalHost,
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

test("the commands and their options match this list", () => {
  const lines = [...commands].map(([usage, options]) => [usage, ...options].join("  "));
  expect(lines.join("\n")).toMatchSnapshot();
});

test("the guide names exactly the existing commands and options", () => {
  const documented = new Map<string, string[]>();
  let options: string[] = [];
  for (const line of guide.split("\n")) {
    const [, usage] = /^### `([^`]+)`$/.exec(line) ?? [];
    if (usage !== undefined) {
      options = [];
      documented.set(usage, options);
    }
    const [listed = ""] = /^- (`-[^`]+`(, )?)+/.exec(line) ?? [];
    for (const [, flags = ""] of listed.matchAll(/`([^`]+)`/g)) options.push(flags);
  }
  const shown = [...commands].filter(([usage]) => !usage.includes("__"));
  expect(documented).toEqual(new Map(shown));
});

test("the guide names each common option", () => {
  for (const flags of common) expect(guide).toContain(`| \`${flags}\` |`);
});

test("the help of every command has an example of the command", async () => {
  const names = entries.filter(({ hidden }) => !hidden).map(({ name }) => name);
  await Promise.all(
    [...names, "thread rm", "plan config set"].map(async (name) => {
      const { code, stdout, stderr } = await store.run([...name.split(" "), "--help"]);
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toStartWith(`Usage: uncaged-workflow ${name} `);
      expect(stdout).toMatch(new RegExp(`\nExamples?:\n.*uncaged-workflow ${name}`, "s"));
      expect(stdout).toContain("--json");
      expect(stdout).not.toContain("(default: [])");
    }),
  );
});

test("help, and the program without a command, list the commands", async () => {
  const { code, stdout } = await store.run(["--help"]);
  expect(code).toBe(0);
  for (const { name, hidden } of entries) {
    if (!hidden) expect(stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
  }
  expect(stdout).not.toContain("__complete");
  expect(await store.run([])).toMatchObject({ code: 2, stdout: "" });
  expect((await store.run(["help", "fork"])).stdout).toContain("--from-role <role>");
});

describe("the manual page", () => {
  let page = "";
  beforeAll(async () => void (page = await store.ok(["__man"])));

  test("has each command, its options and examples", () => {
    const shown = page.replaceAll("\\-", "-").replace(/\\f[BIR]/g, "");
    for (const [usage, options] of commands) {
      if (usage.includes("__")) continue;
      expect(shown).toContain(`\n${usage.replaceAll(/[<>]/g, "")}\n`);
      for (const flags of options) expect(shown).toContain(`\n${flags}\n`);
    }
    expect(shown).toContain("\nuncaged-workflow fork @last --from-role planner --follow\n");
  });

  test("has the exit codes and variables of the guide", () => {
    const rows = guide.split("### Exit codes")[1]?.match(/^\| \d+ \| .* \|$/gm) ?? [];
    const shown = page.replaceAll("\\-", "-").replace(/\\f[BR]/g, "");
    for (const row of rows) {
      const [, code, meaning = ""] = /^\| (\d+) \| (.*) \|$/.exec(row) ?? [];
      expect(shown).toContain(`.TP\n${code}\n${meaning.replaceAll("`", "")}\n`);
    }
    expect(rows.length).toBeGreaterThan(5);
    const names = new Set(page.match(/\b[A-Z]+_[A-Z_]+\b/g));
    // The guide uses this variable as an example of a credential.
    names.delete("GITHUB_TOKEN");
    for (const name of names) expect(guide).toContain(name);
  });

  for (const [formatter, args] of [
    ["groff", ["-man", "-ww", "-Tutf8"]],
    ["mandoc", ["-W", "error", "-T", "utf8"]],
  ] as const) {
    const missing = Bun.which(formatter) === null ? `: ${formatter} is not on this machine` : "";
    test.skipIf(missing !== "")(`is well formed to ${formatter}${missing}`, async () => {
      const input = new TextEncoder().encode(page);
      const child = Bun.spawn([formatter, ...args], {
        stdin: input,
        stdout: "pipe",
        stderr: "pipe",
      });
      const [stdout, stderr] = await Promise.all([child.stdout.text(), child.stderr.text()]);
      expect({ stderr, code: await child.exited }).toEqual({ stderr: "", code: 0 });
      expect(stdout).toContain("the reader of stdout closed it");
    });
  }
});
