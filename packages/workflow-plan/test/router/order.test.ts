import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { until } from "../../../workflow/test/fixtures/until.ts";
import { planHash } from "../../src/plan/hash.ts";
import { type Question, standingOf } from "../../src/router/chat.ts";
import { botApi } from "../channel/bot-api.ts";
import { cron, does, hello, TestHome, workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { ask, bot, closeBots, create } from "./chat.ts";

/* The bot accepts an answer only if it was written after the question, in the order of the channel. */
setDefaultTimeout(60_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const early = "You wrote this before the question was asked.";
const nothingOpen = "Nothing waits for that answer.";
const owner = { channel: "telegram", chatJid: "42", sender: "7" };
const watched = (name: string) => hello({ name, trigger: cron });
const hashOf = (home: TestHome, id: string): string =>
  planHash(home.plans.draft(id) ?? home.plans.get(id)).slice(0, 8);

async function only({ plans }: { plans: TestHome["plans"] }) {
  const [one, ...others] = await plans.list();
  if (!one || others.length > 0) throw new Error("expected one plan");
  return one;
}

test("a message is before, at or after a question", () => {
  const question: Question = { ids: ["10", "12"], order: 12 };
  const standing = (order?: number, replyTo?: string, of: Question | undefined = question) =>
    standingOf(
      { text: "yes", sender: "7", ...(replyTo && { replyTo }), metadata: order ? { order } : {} },
      of,
    );
  expect([standing(11), standing(12), standing(13)]).toEqual(["early", "early", "answer"]);
  const replies = [standing(13, "10"), standing(13, "12"), standing(13, "9")];
  expect(replies).toEqual(["answer", "answer", "elsewhere"]);
  expect([standing(11, "10"), standing(12, "12")]).toEqual(["early", "answer"]);
  expect(standing()).toBe("unordered");
  const unknown: Question = { ids: ["12"], order: null };
  const replied = [standing(13, undefined, unknown), standing(13, "12", unknown)];
  expect(replied).toEqual(["unasked", "answer"]);
  expect(standingOf({ text: "yes", sender: "7", metadata: { order: 1 } })).toBe("unasked");
});

test("answers that were written before the plan was shown neither confirm it nor start a new plan", async () => {
  for (const word of ["yes", "no", "modify", "approve", "at ten"]) {
    const opened = await bot({ script: [create(watched("Plan"))] });
    const { close, handled, home, model, server, texts, write } = opened;
    server.write(42, "go", 7);
    await handled(server.write(42, word, 7));
    const { id, phase } = await only(opened);
    expect([word, phase, model.came.length]).toEqual([word, "awaiting_confirmation", 1]);
    expect(texts().at(-1)).toBe(
      `${early} Plan is not confirmed. Answer yes, no or modify, or confirm it with /confirm ${hashOf(home, id)}. /show ${id} shows it.`,
    );
    expect(await write("yes")).toEqual(["Confirmed: Plan is active."]);
    await close();
  }
});

test("twenty answers from before the bot's start confirm nothing, and neither does an early command with the plan's id", async () => {
  let now = Date.UTC(2026, 0, 1);
  const home = new TestHome();
  const server = botApi();
  server.write(42, "go", 7);
  for (let n = 0; n < 20; n += 1) server.write(42, "yes", 7);
  const opened = await bot({ home, server, now: () => now, script: [create(watched("Plan"))] });
  await opened.write("/list", { chat: 43 });
  const { id, phase } = await only(opened);
  expect(phase).toBe("awaiting_confirmation");
  expect(opened.texts().filter((text) => text.startsWith(early)).length).toBeGreaterThan(0);
  await opened.close();
  now += 5 * 60_000;
  const second = await bot({ home, server, now: () => now });
  expect(await second.write("yes", { chat: 43 })).toEqual([expect.stringContaining(nothingOpen)]);
  await second.handled(server.write(42, `/confirm ${id}`, 7, { message_id: 101 }));
  expect(home.plans.get(id).phase).toBe("awaiting_confirmation");
  expect(await second.write("yes")).toEqual(["Confirmed: Plan is active."]);
  await server.stop();
});

test("a second yes decides nothing, and is not a request", async () => {
  const opened = await bot({ script: [create(watched("Plan"))] });
  const { handled, model, server, texts, write } = opened;
  await write("go");
  const update = server.write(42, "yes", 7);
  server.push(update);
  await handled(server.write(42, "yes", 7));
  expect(texts().slice(-2)).toEqual([
    "Confirmed: Plan is active.",
    expect.stringContaining(nothingOpen),
  ]);
  expect(await write("retry")).toEqual([expect.stringContaining(nothingOpen)]);
  expect(model.came).toHaveLength(1);
  expect((await only(opened)).phase).toBe("active");
});

test("an answer between the parts of a plan is early, and a reply to any part counts", async () => {
  const script = [create(hello({ trigger: cron, description: "word ".repeat(2_000) }))];
  for (const isReply of [false, true]) {
    const opened = await bot({ script });
    const { server, texts, write } = opened;
    const { push } = server.sent;
    let isWritten = false;
    server.sent.push = (...messages) => {
      const isPiece = messages[0]?.text.includes("word word");
      const length = push.apply(server.sent, messages);
      if (isPiece && !isWritten) server.write(42, "yes", 7);
      isWritten ||= isPiece === true;
      return length;
    };
    await write("go");
    await until(() => texts().at(-1)?.startsWith(early) === true);
    expect((await only(opened)).phase).toBe("awaiting_confirmation");
    const piece = server.sent.find(({ text }) => text.includes("word word"));
    const more = isReply ? { reply_to_message: { message_id: piece?.id } } : {};
    await opened.handled(server.write(42, "yes", 7, more));
    expect(texts().at(-1)).toBe("Confirmed: A plan is active.");
    await opened.close();
  }
});

test("a reply to another message answers nothing, a reply to the reminder does, and a topic is not a reply", async () => {
  const opened = await bot({ script: [create(watched("Plan")), create(watched("Other"))] });
  const { handled, server, texts, write } = opened;
  await write("go");
  for (const more of [{ reply_to_message: { message_id: 100 } }, { external_reply: {} }]) {
    await handled(server.write(42, "yes", 7, more));
    expect(texts().at(-1)).toStartWith("This replies to another message. Plan is not confirmed.");
  }
  const reminder = server.sent.at(-1)?.id;
  await handled(server.write(42, "yes", 7, { reply_to_message: { message_id: reminder } }));
  expect(texts().at(-1)).toBe("Confirmed: Plan is active.");
  const topic = {
    ...{ is_topic_message: true, message_thread_id: 5 },
    reply_to_message: { message_id: 5 },
  };
  await handled(server.write(42, "and that", 7, topic));
  await handled(server.write(42, "yes", 7, topic));
  expect(texts().at(-1)).toBe("Confirmed: Other is active.");
});

test("a planner's question is a separate message, and earlier text does not answer it", async () => {
  const opened = await bot({
    script: [ask("Shall it look at the logs?"), create(watched("Plan"))],
  });
  const { handled, model, server, texts, write } = opened;
  server.write(42, "go", 7);
  await handled(server.write(42, "yes", 7));
  expect(texts()).toEqual([
    "The planner has answered.",
    "Shall it look at the logs?",
    `${early}\nShall it look at the logs?`,
  ]);
  expect(model.came).toHaveLength(1);
  expect(await write("yes")).toEqual(["The plan is ready.", "Plan\nDo it."]);
  expect((await only(opened)).phase).toBe("awaiting_confirmation");
});

test("a stored chat without the places of its questions is asked again", async () => {
  for (const [reply, again] of [
    [create(watched("Plan")), "Plan\nDo it."],
    [ask("Where?"), "The question was not asked here yet.\nWhere?"],
  ] as const) {
    const home = new TestHome();
    const first = await bot({ home, script: [reply] });
    await first.write("go");
    await first.close();
    const { folder } = home.plans;
    const name = readdirSync(folder).find((one) => one.startsWith("chat_")) ?? "";
    const { questions, ...old } = JSON.parse(readFileSync(join(folder, name), "utf8")) as {
      questions: object;
    };
    expect(Object.keys(questions)).toHaveLength(1);
    writeFileSync(join(folder, name), JSON.stringify(old));
    const { server } = first;
    const second = await bot({ home, server, script: [create(watched("There"))] });
    expect(await second.write("yes")).toEqual([again]);
    expect(second.model.came).toEqual([]);
    expect((await home.plans.list()).every(({ phase }) => phase !== "active")).toBe(true);
    expect((await second.write("yes")).at(-1)).toMatch(/^Confirmed: Plan is active\.|^There\n/);
    await second.close();
  }
});

test("a confirmation by id counts for the plan shown before it, and by hash for exactly that plan", async () => {
  const home = new TestHome();
  await home.plans.create(workflow(watched("One"), { id: "wf_byid", metadata: { owner } }));
  const opened = await bot({ home, script: [create(watched("Two"))] });
  const { handled, server, texts, write } = opened;
  const before = hashOf(home, "wf_byid");
  await write("/show wf_byid");
  server.write(42, "/modify wf_byid call it two", 7);
  await handled(server.write(42, "/confirm wf_byid", 7));
  expect(texts().at(-1)).toStartWith(`${early} Two is not confirmed.`);
  expect(await write(`/confirm ${before}`)).toEqual([expect.stringMatching(/no plan ".*" found/)]);
  expect(home.plans.get("wf_byid").phase).toBe("awaiting_confirmation");
  const { failure_policy, steps, trigger } = home.plans.get("wf_byid");
  const three = { name: "Three", description: "Do it.", failure_policy, steps, trigger };
  await home.plans.replace({ ...home.plans.get("wf_byid"), ...three });
  expect(await write("/confirm wf_byid")).toEqual([
    expect.stringContaining("this plan has changed"),
  ]);
  await handled(server.write(42, "/confirm wf_byid", 7, { message_id: 50 }));
  expect(texts().at(-1)).toBe("Three\nDo it.");
  expect(await write("/confirm wf_byid")).toEqual(["Confirmed: Three is active."]);
});

test("the text of a change is requested once, and earlier text does not answer the request", async () => {
  const opened = await bot({ script: [create(watched("One")), create(watched("Two"))] });
  const { handled, model, server, texts, write } = opened;
  await write("go");
  server.write(42, "m", 7);
  await handled(server.write(42, "yes", 7));
  expect(texts().slice(-2)).toEqual(["What should change?", `${early} What should change?`]);
  expect([model.came.length, (await only(opened)).phase]).toEqual([1, "awaiting_confirmation"]);
  expect(await write("the name")).toEqual(["The plan is ready.", "Two\nDo it."]);
});

test("names of object properties are not answers, and an edited message decides nothing", async () => {
  const opened = await bot({ script: [create(watched("One")), create(watched("Two"))] });
  const { model, server, write } = opened;
  await write("go");
  expect(await write("constructor")).toEqual(["The plan is ready.", "Two\nDo it."]);
  const chat = { id: 42, type: "private" };
  const from = { id: 7, is_bot: false, first_name: "Ada" };
  server.push({ edited_message: { message_id: 9_999, date: 0, chat, from, text: "yes" } });
  await write("/list");
  expect([model.came.length, (await only(opened)).phase]).toEqual([2, "awaiting_confirmation"]);
});

test("in a group any allowed sender confirms the plan of a chat by a later reply", async () => {
  const opened = await bot({ allowed: ["7", "8"], script: [create(watched("Plan"))] });
  const { handled, server, texts } = opened;
  server.write(-5, "@plans_bot go", 7);
  server.write(-5, "@plans_bot yes", 8);
  await handled(server.write(-5, "@plans_bot yes", 9));
  expect((await only(opened)).phase).toBe("awaiting_confirmation");
  expect(texts("-5").at(-1)).toStartWith(early);
  const reply = (id: number | undefined, author: number) => ({
    reply_to_message: { message_id: id, from: { id: author, is_bot: author === 1 } },
  });
  const shown = server.sent.at(-1)?.id;
  await handled(server.write(-5, "yes", 9, reply(shown, 1)));
  await handled(server.write(-5, "yes", 8));
  await handled(server.write(-5, "yes", 8, reply(99, 7)));
  expect((await only(opened)).phase).toBe("awaiting_confirmation");
  await handled(server.write(-5, "yes", 8, reply(shown, 1)));
  expect(texts("-5").at(-1)).toBe("Confirmed: Plan is active.");
});

/** Returns a bot with a plan whose step failed and waits for a decision. */
async function failing(home = new TestHome()) {
  const opened = await bot({ home });
  const steps = [does("bad", "fail-once"), does("end", "say end", ["bad"])];
  const asking = plan(steps, { on_step_failure: "ask_user" });
  await home.plans.create(workflow(asking, { id: "wf_ask", metadata: { owner } }));
  const { runId } = await home.plans.confirm("wf_ask");
  await until(async () => (await home.plans.wanted()).length > 0);
  return { ...opened, runId: runId ?? "" };
}

test("a decision that was written before its failure was reported decides nothing", async () => {
  const { handled, home, notices, runId, server, texts } = await failing();
  await notices.send();
  const [, name = ""] = /\/answer (\w{8}) and/.exec(texts().at(-1) ?? "") ?? [];
  expect(name).not.toBe("");
  for (const text of ["skip", "Abort", `/answer wf_ask skip`, `/answer ${runId} skip`]) {
    await handled(server.write(42, text, 7, { message_id: 50 }));
    expect(texts().at(-1)).toStartWith(`${early}\nbad has failed: `);
    expect(texts().at(-1)).toEndWith(`\n/answer ${name} retry, skip or abort`);
  }
  const elsewhere = { reply_to_message: { message_id: 50 } };
  await handled(server.write(42, "skip", 7, elsewhere));
  expect(texts().at(-1)).toStartWith("This replies to another message.");
  expect(await home.plans.wanted()).toHaveLength(1);
  await handled(server.write(42, `/answer ${name} skip`, 7));
  expect(texts().at(-1)).toBe("bad: skip");
});

test("a failure that was not reported here asks for a decision, even after a restart", async () => {
  const home = new TestHome();
  const { close, server, write } = await failing(home);
  const [asked] = await write("skip");
  expect(asked).toStartWith("The question was not asked here yet.\nbad has failed: ");
  expect(await home.plans.wanted()).toHaveLength(1);
  await close();
  const second = await bot({ home, server });
  expect(await second.write("skip")).toEqual(["bad: skip"]);
});

test("a retry that was written before its run failed does not start", async () => {
  const home = new TestHome();
  const opened = await bot({ home });
  const { handled, notices, plans, server, texts, write } = opened;
  const bad = plan([does("bad", "fail-once")]);
  await plans.create(workflow(bad, { id: "wf_bad", metadata: { owner } }));
  await plans.confirm("wf_bad");
  await home.ended("wf_bad");
  await notices.send();
  await handled(server.write(42, "/retry wf_bad", 7, { message_id: 50 }));
  expect(texts().at(-1)).toContain("It has failed again since: ");
  expect((await plans.show("wf_bad")).runs).toHaveLength(1);
  expect((await write("/retry wf_bad")).join()).toMatch(/^A plan runs again/);
  await home.ended("wf_bad");
});
