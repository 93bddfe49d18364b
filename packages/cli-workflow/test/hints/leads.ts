import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Ended, Store } from "../program.ts";
import { type Site, sites } from "./sites.ts";

/** A command that shows a hint, or the hint's text if no command shows it. */
export type Shown = string[] | string;

/** A state in which a command shows a hint. */
export type Situation = {
  /** Creates a fresh state for each command of the hint. */
  in: (store: Store) => Promise<Shown>;
  /** Values for placeholders in the hint, besides the usual values. */
  fill?: Record<string, string>;
  /** Nonzero exit codes of the hint's commands that count as success. */
  codes?: number[];
  /** The environment of all commands. */
  env?: Record<string, string>;
  /** Whether a new thread must complete. By default, it only has to start. */
  waits?: boolean;
  /** The stdin of the commands. */
  stdin?: string;
  /** The folder of all commands, inside the store's folder. */
  cwd?: string;
  /** Whether the shown command may succeed, or have no hint. */
  mayLack?: boolean;
  /** Whether the situation needs its own store, with `play` in it. */
  isNew?: boolean;
  /** The action that the hint requires before its command. */
  first?: (store: Store) => Promise<void>;
  /** Commands of the hint that this test does not run, and the reason. */
  not?: Record<string, string>;
};

/** Values for the placeholders in a hint. */
const usual: Record<string, string> = {
  TEXT: "yes",
  "'your answer'": "yes",
  REASON: "no",
  N: "50",
  JSON: "{}",
  "<id>": "@last",
  "<thread>": "@last",
  "<name>": "play",
  "<workflow>": "play",
};

/** Commands that report a problem and exit with 1. */
const finds = new Set(["verify", "doctor"]);

/** The sites with a tested hint: a test showed the hint, and the hint's commands worked. */
export const led = new Set<Site>();

const name = "uncaged-workflow ";
const commands = new Set(
  readdirSync(join(import.meta.dir, "../../src/commands")).map((file) => file.replace(/\W.*/, "")),
);
const isCommand = (call: string) =>
  (commands.has(/^[a-z]+/.exec(call)?.[0] ?? "") && !/^serve\S* has /.test(call)) ||
  call.endsWith("--help");

/** Returns the commands in a text, as written, with their options. */
export function commandsIn(text: string): string[] {
  const found: string[] = [];
  for (const clause of text.split(/[;\n]/)) {
    let from = clause.indexOf(name);
    const option = /: (--[a-z].*)$/.exec(clause)?.[1];
    const before = found.at(-1)?.split(" --")[0];
    if (from === -1 && option && before) found.push(`${before} ${option}`);
    for (; from !== -1; from = clause.indexOf(name, from + 1)) {
      if (clause[from - 1] === "(") continue;
      const call = clause.slice(from + name.length).split(/,| or | \((?!\$)/)[0] ?? "";
      if (isCommand(call)) found.push(call.trim());
    }
  }
  return found;
}

/** The sites of hints that name a command. */
export const all: Site[] = sites().filter(({ text }) => commandsIn(text).length > 0);

/** Returns the part whose tests show a hint. The part "clusters" includes moves between hosts. */
function partOf({ file, text }: Site): "plans" | "models" | "clusters" | "threads" {
  if (/workflow-plan|src.plan.|pages.plans/.test(file) || /plan confirm|^add it: /.test(text))
    return "plans";
  if (/workflow-agents/.test(file) || /repeat the step/.test(text)) return "models";
  const isOfCluster = /workflow-(restate|postgres)|cluster.ts/.test(file);
  return isOfCluster || /--host|pause it first|^compare both/.test(text) ? "clusters" : "threads";
}

/**
 * Returns the hints of a part that no test has shown. Omits the hints in `without`, which maps the text of an untested
 * hint to a reason. Also returns the entries of `without` whose hint does not exist or was tested.
 */
export function unled(part: ReturnType<typeof partOf>, without: Record<string, string>): string[] {
  const left = all.filter((site) => partOf(site) === part && !led.has(site));
  const wrong = left.filter(({ text }) => !(text.trim() in without));
  const stale = Object.keys(without).filter(
    (text) => !left.some((one) => one.text.trim() === text),
  );
  return [...wrong.map(({ file, text }) => `${file}: ${text}`), ...stale];
}

/** Splits a command line into words like a shell. Supports quotes and command substitution. */
async function wordsOf(call: string, { fill = {} }: Situation, run: Run): Promise<string[]> {
  let line = call;
  const [inner, command] = /\$\(uncaged-workflow ([^)]*)\)/.exec(line) ?? [];
  if (inner && command) line = line.replace(inner, (await run(command.split(" "))).stdout.trim());
  const words = line.match(/'[^']*'|"[^"]*"|\S+/g) ?? [];
  return words.map((word) => fill[word] ?? usual[word] ?? word.replace(/^['"]|['"]$/g, ""));
}

type Run = (args: string[]) => Promise<Ended>;

/**
 * Shows the hint of a situation, and runs each of its commands in a fresh state. Each command must succeed or exit with
 * one of the allowed codes, and must not report the same problem again.
 */
export async function leadsOn(store: Store, situation: Situation): Promise<void> {
  const { env, stdin, codes = [], not = {} } = situation;
  const cwd = join(store.folder, situation.cwd ?? "");
  const run: Run = (args) => store.run(args, { env, cwd, ...(stdin !== undefined && { stdin }) });
  const shown = async (): Promise<string> => {
    const made = await situation.in(store);
    if (typeof made === "string") return made;
    const { stdout, stderr } = await run(made);
    return `${stdout}\n${stderr}`;
  };
  const text = await shown();
  const found = credited(text);
  if (found.length === 0 && !situation.mayLack) throw new Error(`no hint in the output: ${text}`);
  const calls = commandsIn(text);
  for (const [nth, call] of calls.entries()) {
    if (call in not || Object.keys(not).some((one) => call.startsWith(one))) continue;
    const now = nth === 0 ? text : await shown();
    const again = commandsIn(now)[nth] ?? "";
    await situation.first?.(store);
    const args = await wordsOf(again, situation, run);
    if (situation.waits && ["retry", "fork"].includes(args[0] ?? "")) args.push("--wait");
    const { code, stdout, stderr } = await run(args);
    const outcome = { hint: now, ran: args.join(" "), code, stdout, stderr };
    const leads = [0, 6, ...codes].includes(code) || (finds.has(args[0] ?? "") && stdout !== "");
    expect({ ...outcome, leads }).toMatchObject({ leads: true });
    const problem = /^error: [^;]*/m.exec(now)?.[0];
    if (problem) expect(stderr).not.toContain(problem);
  }
  for (const site of found) led.add(site);
}

/** Returns the sites whose hints a text contains. If several match the same part, the longest wins. */
function credited(text: string): Site[] {
  const taken: [number, number][] = [];
  const found: Site[] = [];
  for (const site of all) {
    for (const match of text.matchAll(site.pattern)) {
      const [from, to] = [match.index, match.index + match[0].length];
      if (taken.some(([start, end]) => from < end && start < to)) continue;
      taken.push([from, to]);
      found.push(site);
    }
  }
  return found;
}
