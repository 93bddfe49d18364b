import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { botApi } from "../channel/bot-api.ts";
import { cron, does, hello, TestHome, workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { bot, closeBots, create } from "./chat.ts";

/* Messages in groups and topics, unreadable messages, and chats that move or refuse. */
setDefaultTimeout(60_000);
afterEach(async () => {
  await closeBots();
  await removeStores();
});

const group = -100_300;
const watched = (name: string) => hello({ name, trigger: cron });
const topic = { is_topic_message: true, message_thread_id: 5 };

test("in a group the bot handles only its mentions and the replies to it", async () => {
  const opened = await bot({ script: [create(watched("Plan")), create(watched("Other"))] });
  const { handled, home, model, server, texts } = opened;
  await home.plans.create(workflow(watched("Kept"), { id: "wf_kept" }));
  const others = [
    ...["/delete@other_bot wf_kept", "!delete@plans_bot_2 wf_kept", "who wants pizza?", "yes"],
    ...["retry", "mail me@plans_bot", "@plans_bots go", "/start", "@other_bot make a plan"],
    ...["/delete@other_bot wf_kept @plans_bot"],
  ];
  for (const text of others) await handled(server.write(group, text, 7));
  const reply = { reply_to_message: { message_id: 3, from: { id: 9 } } };
  await handled(server.write(group, "yes", 7, reply));
  const story = { ...reply, external_reply: {}, reply_to_message: { from: { id: 1 } } };
  await handled(server.write(group, "yes", 7, story));
  expect([texts(String(group)), model.came, home.plans.get("wf_kept").name]).toEqual([
    [],
    [],
    "Kept",
  ]);
  await handled(server.write(group, "/status@Plans_Bot", 7));
  await handled(server.write(group, "/status", 7));
  await handled(server.write(group, "@plans_bot, /status", 7));
  expect(texts(String(group))).toHaveLength(3);
  await handled(server.write(group, "@Plans_bot: make a plan", 7));
  expect(server.sent.at(-1)?.text).toEndWith("Reply to this message.");
  const entities = [{ type: "text_mention", offset: 0, length: 3, user: { id: 1 } }];
  await handled(server.write(group, "You there, make another", 7, { entities }));
  expect(model.came).toHaveLength(2);
});

test("a command for another bot is refused in a private chat", async () => {
  const { home, write } = await bot();
  await home.plans.create(workflow(watched("Kept"), { id: "wf_kept" }));
  expect(await write("/delete@other_bot wf_kept")).toEqual([
    "/delete@other_bot is for another bot",
  ]);
  expect(home.plans.get("wf_kept").name).toBe("Kept");
  expect(await write("/delete@plans_bot wf_kept")).toEqual(["Kept was removed."]);
});

test("answers, notices and confirmations stay in the topic, which is a separate chat", async () => {
  const opened = await bot({ script: [create(watched("Plan"))] });
  const { handled, home, notices, server } = opened;
  await handled(server.write(group, "/new@plans_bot go", 7, topic));
  expect(server.sent.map((one) => one.topic)).toEqual([5, 5]);
  const [made] = await home.plans.list();
  expect(made?.metadata?.owner).toMatchObject({ chatJid: `${group}:5` });
  const shown = server.sent.at(-1)?.id;
  const reply = { reply_to_message: { message_id: shown, from: { id: 1 } } };
  await handled(server.write(group, "yes", 7, { ...reply, message_thread_id: 9 }));
  expect(server.sent.at(-1)).toMatchObject({ text: expect.stringContaining("Nothing waits") });
  expect(server.sent.at(-1)?.topic).toBeUndefined();
  await handled(server.write(group, "yes", 7, { ...reply, ...topic }));
  expect(server.sent.at(-1)).toMatchObject({ text: "Confirmed: Plan is active.", topic: 5 });
  await home.plans.notify(made?.id ?? "", "done");
  await notices.send();
  expect(server.sent.at(-1)).toMatchObject({ text: "Plan: done", topic: 5 });
});

test("a reply outside a forum's topics is an answer in the chat", async () => {
  const { handled, server } = await bot({ script: [create(watched("Plan"))] });
  const general = { chat: { id: group, type: "supergroup", title: "Team", is_forum: true } };
  await handled(server.write(group, "@plans_bot make a plan", 7, general));
  const message_id = server.sent.at(-1)?.id;
  const reply = {
    message_thread_id: message_id,
    reply_to_message: { message_id, from: { id: 1 } },
  };
  await handled(server.write(group, "Yes.", 7, { ...general, ...reply }));
  expect(server.sent.at(-1)?.text).toBe("Confirmed: Plan is active.");
});

test("a plan that is made while its group moves belongs to the supergroup", async () => {
  const { handled, home, server } = await bot({ script: [create(watched("Plan"))] });
  server.refuse({
    ...{ method: "sendMessage", error_code: 400, parameters: { migrate_to_chat_id: group } },
    description: "Bad Request: group chat was upgraded to a supergroup chat",
  });
  await handled(server.write(-9, "@plans_bot make a plan", 7));
  const [made] = await home.plans.list(() => {});
  expect(made?.metadata?.owner).toMatchObject({ chatJid: String(group) });
});

test("the messages of a deleted topic go to the chat", async () => {
  const { handled, server } = await bot();
  const description = "Bad Request: message thread not found";
  server.refuse({ method: "sendMessage", error_code: 400, description });
  await handled(server.write(group, "/status@plans_bot", 7, topic));
  expect(server.sent.map(({ chat, topic: at }) => [chat, at])).toEqual([
    [String(group), undefined],
  ]);
});

test("an unreadable message is answered once, in a group only when it is for the bot", async () => {
  const { handled, model, server, texts } = await bot();
  const photo = [{ file_id: "x", width: 1, height: 1 }];
  await handled(server.write(42, null, 7, { photo, caption: "please summarise" }));
  await handled(server.write(42, null, 7, { voice: { file_id: "x", duration: 2 } }));
  for (let n = 0; n < 3; n += 1)
    await handled(server.write(42, null, 7, { photo, media_group_id: "one" }));
  const edit = {
    ...{ message_id: 100, date: 1, edit_date: 2, text: "yes" },
    ...{ chat: { id: 42, type: "private" }, from: { id: 7 } },
  };
  for (const text of ["yes", "no"])
    await handled(server.push({ edited_message: { ...edit, text } }));
  await handled(server.write(42, null, 7, { pinned_message: { message_id: 1 } }));
  expect(texts()).toEqual([
    expect.stringContaining("this is a picture"),
    expect.stringContaining("this is a voice message"),
    expect.stringContaining("this is a picture"),
    expect.stringContaining("An edit changes nothing here"),
  ]);
  await handled(server.write(group, null, 7, { photo, caption: "lunch" }));
  await handled(server.write(group, null, 7, { photo, caption: "@plans_bot what is this" }));
  expect(texts(String(group))).toHaveLength(1);
  expect(model.came).toEqual([]);
});

test("all messages from before the start are handled, and a burst after the start is limited", async () => {
  const server = botApi();
  for (let n = 0; n < 130; n += 1) server.write(42, "/status", 7);
  const { handled, texts } = await bot({ server });
  await handled(server.write(42, "/list", 7));
  expect(texts().filter((text) => text.startsWith("0 plans"))).toHaveLength(130);
  for (let n = 0; n < 20; n += 1) server.write(42, "/list", 7);
  await handled(server.write(42, "/list", 7));
  expect(texts().at(-1)).toContain("too much at once");
  await server.stop();
});

test("a group that becomes a supergroup keeps its plans, and gets their notices", async () => {
  const home = new TestHome();
  const owner = { channel: "telegram", chatJid: "-9", sender: "7" };
  await home.plans.create(workflow(watched("Plan"), { id: "wf_moved", metadata: { owner } }));
  const { notices, server } = await bot({ home });
  const description = "Bad Request: group chat was upgraded to a supergroup chat";
  const parameters = { migrate_to_chat_id: group };
  server.refuse({ method: "sendMessage", error_code: 400, description, parameters });
  await home.plans.notify("wf_moved", "done");
  await notices.send();
  expect(server.sent.map(({ chat, text }) => [chat, text])).toEqual([
    [String(group), "Plan: done"],
  ]);
  expect(home.plans.get("wf_moved").metadata?.owner).toEqual({ ...owner, chatJid: String(group) });
  const chat = { id: group, type: "supergroup" };
  server.push({ message: { message_id: 1, date: 1, chat, migrate_from_chat_id: -10 } });
});

const refusals = [
  [403, "Forbidden: bot was blocked by the user"],
  [403, "Forbidden: bot was kicked from the supergroup chat"],
  [400, "Bad Request: chat not found"],
  [400, "Bad Request: group chat was upgraded to a supergroup chat"],
  [400, "Bad Request: not enough rights to send text messages to the chat"],
] as const;

test.each(refusals)(
  "a chat that refuses with %i %s gets no messages for a while",
  async (code, why) => {
    let now = Date.now();
    const home = new TestHome();
    const owner = { channel: "telegram", chatJid: "42", sender: "7" };
    await home.plans.create(workflow(watched("Plan"), { id: "wf_one", metadata: { owner } }));
    const { lines, notices, server } = await bot({ home, now: () => now });
    for (let n = 0; n < 2; n += 1)
      server.refuse({ method: "sendMessage", error_code: code, description: why });
    await home.plans.notify("wf_one", "done");
    for (let n = 0; n < 50; n += 1, now += 1_000) await notices.send();
    expect(lines.filter((line) => line.includes(why))).toHaveLength(1);
    now += 60_000;
    await notices.send();
    expect(lines.filter((line) => line.includes(why))).toHaveLength(2);
    now += 120_000;
    await notices.send();
    expect(server.sent.map(({ text }) => text)).toEqual(["Plan: done"]);
  },
);

test("a notice is split between two characters, and a refused notice is not repeated", async () => {
  const home = new TestHome();
  const owner = { channel: "telegram", chatJid: "42", sender: "7" };
  // The output begins with "said ".
  const one = plan([does("a", `say ${"a".repeat(2_994)}🙂 done`)]);
  await home.plans.create(workflow(one, { id: "wf_long", metadata: { owner } }));
  await home.plans.confirm("wf_long");
  await home.ended("wf_long");
  const { lines, notices, server } = await bot({ home });
  await notices.send();
  expect(server.sent.at(-1)?.text).toEndWith("a…");
  await home.plans.notify("wf_long", "one");
  await home.plans.notify("wf_long", "two");
  server.refuse({ method: "sendMessage", error_code: 400, description: "Bad Request: no" });
  await notices.send();
  await notices.send();
  expect(server.sent.slice(1).map(({ text }) => text)).toEqual([
    "A notice could not be shown here. /status shows the current state.",
    "A plan: two",
  ]);
  expect(lines.join()).toContain("a notice is not sent again");
});

test("half of a surrogate pair in a text is sent as a replacement sign", async () => {
  const { channels, server } = await bot();
  await channels[0]?.sendMessage("42", "half \ud83d and \ude42 more");
  expect(server.sent.at(-1)?.text).toBe("half \ufffd and \ufffd more");
});
