import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type Host, settled } from "@uncaged/workflow/host";
import { ledgerOf } from "../src/ledger/ledger.ts";
import { type Model, ModelRuns, type Run } from "./model-runs.ts";
import type { Reply, ReplyTool } from "./wire.ts";
import { some } from "../../workflow/test/fixtures/cases.ts";

/*
 * A lead whose roles are tools of each other, and whose process dies at each event of the run: no turn is paid twice, no
 * recorded call is made twice, and each model sees the conversation of a run that nothing disturbed.
 */
let models: ModelRuns;
let host: Host;
let servers: ModelRuns["servers"];

const calls = (name: string, ...messages: string[]): ReplyTool[] =>
  messages.map((message) => ({ name, input: { message } }));
const marks = (...names: string[]): ReplyTool[] =>
  names.map((of) => ({ name: "mark", input: { of } }));

/** What each member does, by its turn; the two readers are asked the same. */
const script: Record<string, Reply[]> = {
  "You lead": [
    { text: "Read first. ", tools: [...calls("reader", "the log", "the log"), ...marks("lead")] },
    { tools: calls("writer", "a report") },
    { text: "all is done" },
  ],
  "You read": [{ thinking: "where?", tools: marks("read") }, { text: "it is read" }],
  "You write": [{ tools: marks("write") }, { tools: calls("checker", "it") }, { text: "written" }],
  "You check": [{ tools: marks("check") }, { text: "it is fine" }],
};
const members = Object.keys(script);
const effects = ["check", "lead", "read", "read", "write"];

/** What happens at a member's turn, once. */
type Moment = { who: string; turn: number; kind: "asked" | "answering" };
let moment: Moment | null = null;
let killed: Promise<void> | undefined;
/** Whose mark the process dies in, until it has. */
let dying: string | null = null;
/** How many readers have come to where the process dies: all but one wait there, so that it is known how far each is. */
let readers = 0;
let bothRead = Promise.withResolvers<void>();

type Body = { messages: { role: string; content: unknown }[] };

function placeOf(body: object): { who: string; turn: number } {
  const text = JSON.stringify(body);
  const { messages } = body as Body;
  return {
    who: members.find((name) => text.includes(name)) ?? "nobody",
    turn: messages.filter(({ role }) => role === "assistant").length + 1,
  };
}

function reply(body: object): Reply {
  const { who, turn } = placeOf(body);
  const whole = script[who]?.[turn - 1] ?? { text: "?" };
  const isReader = who === "You read";
  if (isReader && (dying === "lead" || dying === "read")) {
    readers += 1;
    if (readers > 1) bothRead.resolve();
    const isFirst = dying === "read" && readers === 1;
    return isFirst ? { ...whole, held: bothRead.promise } : { fault: { kind: "hang" } };
  }
  if (moment?.who === who && moment.turn === turn) {
    readers += isReader ? 1 : 0;
    if (readers === 1) return { fault: { kind: "hang" } };
    const { kind } = moment;
    moment = null;
    if (kind === "answering") {
      killed = models.killInAnswer();
      const text = "I begin to do what I am asked";
      return { text, held: killed, fault: { kind: "half-event", after: 5 } };
    }
    killed = models.kill();
    return { fault: { kind: "hang" } };
  }
  return whole;
}

beforeAll(async () => {
  models = await ModelRuns.open(reply);
  ({ host, servers } = models);
  await host.register("team", join(import.meta.dir, "team/team.ts"));
}, 180_000);
afterAll(() => models.close());

async function start(model: Model, die = ""): Promise<Run> {
  readers = 0;
  bothRead = Promise.withResolvers<void>();
  dying = die.split(" ")[1] ?? null;
  return await models.start("team", model, die);
}

/** The marks that were left, without the keys of their calls. */
const markedIn = (run: Run): string[] =>
  models
    .marksOf(run)
    .map((line) => line.split(" ")[0] ?? "")
    .sort();

const keysIn = (run: Run): string[] =>
  models.marksOf(run).map((line) => line.slice(line.indexOf(" ") + 1));

/** The ids of tool calls have the number of the request: here that of its turn in the conversation. */
function withOwnIds(text: string): string {
  const requests = [...new Set([...text.matchAll(/"(?:toolu|call)_(\d+)_/g)].map(([, n]) => n))];
  return text.replace(
    /"(toolu|call)_(\d+)_/g,
    (_, name: string, n: string) => `"${name}_${requests.indexOf(n)}_`,
  );
}

/** The bodies that came, those that were answered in full apart. */
function bodiesOf(model: Model): { all: string[]; paid: string[] } {
  const bodies = servers[model].came.map(({ body, finished, counted, reported }) => ({
    text: withOwnIds(JSON.stringify(body)),
    isPaid: finished && counted.output > 0 && counted.output === reported.output,
  }));
  return {
    all: bodies.map(({ text }) => text),
    paid: bodies.flatMap(({ text, isPaid }) => (isPaid ? [text] : [])).sort(),
  };
}

const undisturbed = new Map<Model, string[]>();
async function conversationsOf(model: Model): Promise<string[]> {
  const known = undisturbed.get(model);
  if (known) return known;
  const run = await start(model);
  const view = await settled(host, run.ref);
  expect([view.status, view.steps[0]?.content ?? view]).toEqual(["completed", "all is done"]);
  expect(markedIn(run)).toEqual(effects);
  const { all } = bodiesOf(model);
  expect(all).toHaveLength(3 + 2 * 2 + 3 + 2);
  undisturbed.set(model, all.toSorted());
  return all.toSorted();
}

async function resumed({ ref, env, cwd }: Run): Promise<void> {
  await killed;
  expect((await settled(host, ref)).status).toBe("interrupted");
  dying = null;
  await host.control(ref, { kind: "resume", env, cwd });
  const view = await settled(host, ref);
  expect([view.status, view.steps[0]?.content ?? view]).toEqual(["completed", "all is done"]);
}

/** Each request was one of the undisturbed run, byte for byte, and each of those was paid once. */
async function expectSame(model: Model): Promise<void> {
  const whole = await conversationsOf(model);
  const { all, paid } = bodiesOf(model);
  expect(all.filter((text) => !whole.includes(text))).toEqual([]);
  expect(paid).toEqual(whole);
}

const kinds = ["asked", "answering"] as const;
const moments = members.flatMap((who) =>
  (script[who] ?? []).flatMap((_, at) => kinds.map((kind) => ({ who, turn: at + 1, kind }))),
);

describe.each(some(["claude", "gpt"] as const))(
  "a team of %s goes on after its process died",
  (model) => {
    test.each(some(moments, 5, 1))("when turn $turn of $who was $kind", async (at) => {
      await conversationsOf(model);
      moment = at;
      const run = await start(model);
      await resumed(run);
      await expectSame(model);
      expect(markedIn(run)).toEqual(effects);
      expect(new Set(keysIn(run)).size).toBe(effects.length);
      await models.expectCounted(run.ref);
    });

    test.each(some(["lead", "read", "write", "check"], 2, 1))("in the mark of %s", async (of) => {
      for (const place of ["before", "after"]) {
        const run = await start(model, `${place} ${of}`);
        await resumed(run);
        await expectSame(model);
        // What had left its mark and was not recorded is made again, with its key.
        expect([...new Set(markedIn(run))]).toEqual([...new Set(effects)]);
        expect(new Set(keysIn(run)).size).toBe(effects.length);
        await models.expectCounted(run.ref);
      }
    });
  },
);

test("each member has an attempt within that of its caller, and the step what all have spent", async () => {
  const run = await start("claude");
  const view = await settled(host, run.ref);
  const attempts = await host.attempts(run.ref);
  const roleOf = (id: string | null) => attempts.find(({ attempt }) => attempt === id)?.role;
  const tree = attempts.map(({ role, parent, status }) => [role, roleOf(parent), status].join(" "));
  expect(tree.sort()).toEqual([
    "checker writer committed",
    "claude  committed",
    "reader claude committed",
    "reader claude committed",
    "writer claude committed",
  ]);
  const { total } = ledgerOf(attempts);
  expect(view.steps[0]?.meta.usage).toEqual(total.usage);
  expect(total.usage.output_tokens).toBe(servers.claude.counted.output);
});
