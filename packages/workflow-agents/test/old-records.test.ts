import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Host, settled } from "@uncaged/workflow/host";
import { programWords } from "../../cli-workflow/test/command.ts";
import { dataPath, journalPath } from "../../workflow/src/disk/paths.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";
import { sealedLogOf, unsealed } from "../../workflow/test/fixtures/records.ts";
import type { Block, ModelAnswer, ToolResult } from "../src/llm/provider.ts";
import { type Model, ModelRuns, type Run } from "./model-runs.ts";
import type { Reply } from "./wire.ts";

/*
 * Resumes, retries and forks threads whose recorded turns have content that a service would refuse, as earlier versions
 * could record it. Each service must accept the conversation.
 */
setDefaultTimeout(120_000);
let models: ModelRuns;
let host: Host;

/** The event of the third turn. Reset after the event. */
let atThird: "is killed" | "fails" | null = null;

const calls = [[1, 2], [3]];
type Body = { messages: { role?: string }[] };

function reply(body: object): Reply {
  const text = JSON.stringify(body);
  const turn = (body as Body).messages.filter(({ role }) => role === "assistant").length;
  const tools = (calls[turn] ?? []).map((n) => ({ name: "mark", input: { n } }));
  if (tools.length > 0 && !text.includes("marked 3")) {
    return { thinking: "hm", text: `I mark ${turn}. `, tools };
  }
  const event = atThird;
  atThird = null;
  if (event === "is killed") {
    void models.kill();
    return { fault: { kind: "hang" } };
  }
  const fault = { kind: "status", status: 529, type: "overloaded_error", message: "busy" } as const;
  return event === "fails" ? { fault } : { text: '{"done":true}' };
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host } = models);
  await host.register("turns", join(import.meta.dir, "turns/turns.ts"));
});
afterAll(() => models.close());

type Entry = { turn: number; kind: string; answer: ModelAnswer; result: ToolResult };
type Change = (entries: Entry[]) => Entry[] | void;

const answer = (entries: Entry[], turn: number): ModelAnswer => {
  const found = entries.find((entry) => entry.kind === "answer" && entry.turn === turn);
  if (!found) throw new Error(`no answer found for turn ${turn}`);
  return found.answer;
};
const resultsOf = (entries: Entry[], turn: number): Entry[] =>
  entries.filter((entry) => entry.kind === "result" && entry.turn === turn);
const usesIn = ({ blocks }: ModelAnswer): Block[] =>
  blocks.filter(({ type }) => type === "tool_use");

function renameCall(entries: Entry[], turn: number, nth: number, id: string): void {
  const { toolUses, ...rest } = answer(entries, turn);
  const use = toolUses[nth];
  const block = usesIn({ toolUses, ...rest })[nth];
  if (!use || !block) throw new Error("no call found");
  for (const { result } of resultsOf(entries, turn)) {
    if (result.tool_use_id === use.id) result.tool_use_id = id;
  }
  block.id = use.id = id;
}

/** Appends a third turn, which has not been requested. */
function withTurn(entries: Entry[], given: Partial<ModelAnswer>): Entry[] {
  const [first] = entries.filter(({ kind }) => kind === "answer");
  if (!first) throw new Error("no answer found");
  const empty = { ...first.answer, blocks: [], text: "", thinking: "", toolUses: [] };
  return [...entries, { ...first, turn: 3, answer: { ...empty, ...given } }];
}

/** Changes to the recorded turns, by name. */
const changes: Record<string, Change> = {
  "blank blocks": (entries) => {
    answer(entries, 1).blocks.unshift({ type: "text", text: "\n\n" });
    answer(entries, 2).blocks.push({ type: "text", text: "" });
    for (const { result } of resultsOf(entries, 1)) result.content = "";
  },
  "half an emoji": (entries) => {
    answer(entries, 1).blocks.unshift({ type: "text", text: "key \ud83d" });
    Object.assign(usesIn(answer(entries, 1))[0] ?? {}, { input: { n: 1, "\udd11": "\ud83d" } });
    for (const { result } of resultsOf(entries, 2)) result.content += "\udd11";
  },
  "an invalid tool name": (entries) => {
    const { toolUses, ...rest } = answer(entries, 1);
    for (const each of [toolUses[0], usesIn({ toolUses, ...rest })[0]]) {
      Object.assign(each ?? {}, { name: `multi_tool_use.parallel ${"x".repeat(200)}` });
    }
  },
  "a call without a result": (entries) => {
    const [lost] = resultsOf(entries, 1);
    return entries.filter((entry) => entry !== lost);
  },
  "a call in a block that the answer does not list": (entries) => {
    const call = { type: "tool_use", id: "toolu_lost", name: "mark", input: { n: 9 } };
    answer(entries, 1).blocks.push(call);
  },
  "a result without a call": (entries) => {
    const [known] = resultsOf(entries, 1);
    if (!known) throw new Error("no result found");
    return [...entries, { ...known, result: { ...known.result, tool_use_id: "toolu_gone" } }];
  },
  "the same id twice": (entries) => {
    for (const nth of [0, 1]) renameCall(entries, 1, nth, "call");
    renameCall(entries, 2, 0, "call");
  },
  "the same id twice, and one result": (entries) => {
    for (const nth of [0, 1]) renameCall(entries, 1, nth, "call");
    const [, lost] = resultsOf(entries, 1);
    return entries.filter((entry) => entry !== lost);
  },
  "an empty message": (entries) => withTurn(entries, { stop: "paused" }),
  "a blank message": (entries) =>
    withTurn(entries, { stop: "paused", text: " ", blocks: [{ type: "text", text: " \n" }] }),
};

/** Changes the journal entries of a thread, with matching checksums in both logs. */
function change({ ref }: Run, to: Change): void {
  const journal = journalPath(models.root, ref.hash, ref.threadId);
  type Line = { kind: string; entry?: Entry };
  const lines = linesOf(journal).map((line) => JSON.parse(line) as Line);
  const entries = lines.flatMap(({ kind, entry }) => (kind === "entry" && entry ? [entry] : []));
  const model = lines.find(({ kind }) => kind === "entry");
  const next = (to(entries) ?? entries).map((entry) => ({ ...model, entry }));
  const others = lines.filter(({ kind }) => kind !== "entry" && kind !== "failed");
  const failed = lines.filter(({ kind }) => kind === "failed");
  const all = [...others, ...next, ...failed].map((line) => JSON.stringify(line));
  const sealedLog = sealedLogOf(...all);
  writeFileSync(journal, sealedLog);
  const [, sum = ""] = /"sum":"([0-9a-f]{16})"\}\n$/.exec(sealedLog.toString()) ?? [];
  const data = dataPath(models.root, ref.hash, ref.threadId);
  const head = `"journal":${JSON.stringify({ records: all.length, sum })}`;
  const records = linesOf(data).map((line) => line.replace(/"journal":\{[^}]*\}/, head));
  writeFileSync(data, sealedLogOf(...records));
}

const linesOf = (path: string): string[] =>
  readFileSync(path, "utf8").trimEnd().split("\n").map(unsealed);

type Printed = { threadId: string; status: string; error?: { message: string; hint?: string } };

/** Runs a command of the program in the folder and with the keys of a run. */
async function command({ cwd, env }: Run, ...args: string[]): Promise<Printed> {
  const child = Bun.spawn([...programWords, ...args, "--wait", "--json"], {
    ...{ cwd, stdout: "pipe", stderr: "pipe" },
    env: { ...env, HOME: cwd, UNCAGED_WORKFLOW_STORAGE_ROOT: host.root },
  });
  const [out, err] = [new Response(child.stdout).text(), new Response(child.stderr).text()];
  const text = await out;
  if (text === "") throw new Error(await err);
  return JSON.parse(text) as Printed;
}

async function startedAt(model: Model, event: "is killed" | "fails", to: Change): Promise<Run> {
  atThird = event;
  const run = await models.start("turns", model);
  const { status } = await settled(host, run.ref);
  expect(status).toBe(event === "fails" ? "failed" : "interrupted");
  change(run, to);
  return run;
}

const ended = ({ status, error }: Printed) => ({ status, error });
const completed = { status: "completed", error: undefined };
const marksIn = (run: Run): number[] => models.marksOf(run).map(Number.parseFloat);

/** Returns the arguments of the fork command in an error's hint. */
function forkIn({ error, threadId }: Printed): string[] {
  const [, words = ""] = /: uncaged-workflow (.+)$/.exec(error?.hint ?? "") ?? [];
  expect(words).toBe(`fork ${threadId} --anew`);
  return words.split(" ");
}

const kinds = ["claude", "gpt"] as const;

describe.each(kinds)("a thread of %s whose records have", (model) => {
  test.each(some(Object.entries(changes), 6, model === "claude" ? 0 : 3))(
    "%s continues",
    async (name, to) => {
      const interrupted = await startedAt(model, "is killed", to);
      const resumed = await command(interrupted, "resume", interrupted.ref.threadId);
      expect(ended(resumed)).toEqual(completed);
      const isMissing = /without a result|one result/.test(name);
      expect(marksIn(interrupted).filter((n) => n !== 3)).toHaveLength(isMissing ? 3 : 2);
      const failed = await startedAt(model, "fails", to);
      const { threadId } = failed.ref;
      expect(ended(await command(failed, "retry", threadId))).toEqual(completed);
      const shown = JSON.stringify(models.servers[model].came.at(-1)?.body);
      if (name === "the same id twice") {
        expect(shown.match(/marked \d(?=:)/g)?.sort()).toEqual([
          "marked 1",
          "marked 2",
          "marked 3",
        ]);
      }
      expect(ended(await command(failed, "fork", threadId, "--anew"))).toEqual(completed);
      expect(ended(await command(failed, "fork", threadId, "--at-step", "0"))).toEqual(completed);
    },
  );
});

test("the service refuses unsigned thinking, and the fork in the error's hint continues", async () => {
  const to: Change = (entries) => {
    answer(entries, 1).blocks.unshift({ type: "thinking", thinking: "I think" });
  };
  for (const [event, verb] of [
    ["is killed", "resume"],
    ["fails", "retry"],
  ] as const) {
    const run = await startedAt("claude", event, to);
    const refused = await command(run, verb, run.ref.threadId);
    expect(refused.error?.message).toContain("thinking.signature: Field required");
    expect(ended(await command(run, ...forkIn(refused)))).toEqual(completed);
  }
});
