import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { isWhole } from "../../../workflow/test/fixtures/cases.ts";
import type { NewMessage } from "../../src/channel/channel.ts";
import { TelegramChannel } from "../../src/channel/telegram.ts";
import { botAccount, readUpdate } from "../../src/channel/telegram-update.ts";
import { WhatsAppChannel } from "../../src/channel/whatsapp.ts";
import { readMessage } from "../../src/channel/whatsapp-message.ts";
import { botApi } from "./bot-api.ts";
import { errorOf, until, workflowOf } from "./contract.ts";
import { mutated } from "./mutation.ts";
import { whatsAppClient } from "./whatsapp-socket.ts";

/* Mutates the fields of the platforms' messages: each may be missing or of another type. */
setDefaultTimeout(120_000);
const count = isWhole ? 5_000 : 200;
const seeds = Array.from({ length: count }, (_, at) => at);

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

const me = { id: 1, is_bot: true, first_name: "Plans", username: "plans_bot" };
const from = { id: 7, is_bot: false, first_name: "Ada", username: "ada" };
const chat = { id: 42, type: "private", first_name: "Ada" };
const group = { id: -100_300, type: "supergroup", title: "Team", is_forum: true };
const head = { message_id: 12, date: 1_700_000_000, from };
const ours = { message_id: 11, date: 1_700_000_000, chat: group, from: me, text: "Shall it?" };
const button = "confirm:wf_aaaaaaaaaaaaaaaaaaaaa:0123abcd";
const photo = [{ file_id: "x", width: 1, height: 1 }];
const inTopic = { is_topic_message: true, message_thread_id: 5 };
const entities = [{ type: "mention", offset: 0, length: 10 }];

/** One update of each kind, recorded from Telegram. */
const updates = [
  { message: { ...head, chat, text: "watch my builds" } },
  { message: { ...head, chat, text: "yes", reply_to_message: { ...ours, chat } } },
  { message: { ...head, chat: group, text: "/status@plans_bot", ...inTopic } },
  { message: { ...head, chat: group, text: "yes", reply_to_message: ours, ...inTopic } },
  { message: { ...head, chat: group, text: "@plans_bot go", entities } },
  { message: { ...head, chat, photo, caption: "this", media_group_id: "1" } },
  { message: { ...head, chat, voice: { file_id: "x", duration: 2 } } },
  { edited_message: { ...head, chat, edit_date: 1_700_000_001, text: "no" } },
  { message: { ...head, chat: { id: -9, type: "group" }, migrate_to_chat_id: -100_300 } },
  { callback_query: { id: "77", from, chat_instance: "1", message: ours, data: button } },
].map((update, at) => ({ update_id: 500 + at, ...update }));

const isText = (value: unknown): boolean => typeof value === "string" && value.isWellFormed();
const isMissingOr = (holds: (value: unknown) => boolean, value: unknown): boolean =>
  value === undefined || holds(value);

/** Tells whether all fields of a message have valid values. */
function isSound({ metadata, replyTo, sender, text, timestamp }: NewMessage): boolean {
  const { id, order, unread } = metadata ?? {};
  return (
    [isText(text), isText(sender) && sender !== ""].every(Boolean) &&
    [id, replyTo, unread].every((one) => isMissingOr(isText, one)) &&
    isMissingOr((one) => Number.isSafeInteger(one) && Number(one) > 0, order) &&
    isMissingOr((one) => !Number.isNaN(Date.parse(String(one))), timestamp)
  );
}

const noise = /TypeError|\[object|undefined is not|not a function|NaN|is not iterable/;

test("an update of Telegram with arbitrary fields is parsed or ignored", () => {
  const bot = botAccount(me);
  for (const [at, update] of updates.entries()) {
    expect([at, readUpdate(update, bot)?.kind]).toEqual([at, expect.any(String)]);
    for (const seed of seeds) {
      const odd = mutated(update, seed * updates.length + at);
      const read = readUpdate(odd, botAccount(seed % 5 === 0 ? mutated(me, seed) : me));
      if (read?.kind === "message") expect([odd, isSound(read.message)]).toEqual([odd, true]);
      if (read && read.kind !== "moved" && read.jid !== "")
        expect(read.jid).toMatch(/^-?\d+(:\d+)?$/);
    }
  }
});

test("messages are delivered between arbitrary other updates of Telegram", async () => {
  const server = botApi();
  const came: NewMessage[] = [];
  const lines: string[] = [];
  const channel = new TelegramChannel({
    ...{ token: server.token, apiRoot: server.url, describe: () => "plan" },
    onMessage: (_, message) => void came.push(message),
    log: (line) => void lines.push(line),
  });
  ends.push(
    () => server.stop(),
    () => channel.disconnect(),
  );
  for (const seed of seeds) {
    const { update_id: _, ...update } = updates[seed % updates.length] ?? {};
    server.push({ ...mutated(update, seed) });
    server.write(42, `sound ${seed}`, 7);
  }
  await channel.connect();
  const sound = () => came.filter(({ text }) => text.startsWith("sound"));
  await until(() => sound().length === count, "all valid messages");
  expect(came.every(isSound)).toBe(true);
  expect(lines.filter((line) => noise.test(line))).toEqual([]);
});

test("a response of Telegram to a sent message yields its id, no id, or a clear error", async () => {
  const server = botApi();
  const channel = new TelegramChannel({
    ...{ token: server.token, apiRoot: server.url, describe: () => "plan" },
    ...{ onMessage: () => {}, log: () => {} },
  });
  ends.push(() => server.stop());
  const result = { message_id: 100, date: 1, chat, text: "x" };
  const parameters = { migrate_to_chat_id: -100_300 };
  const answers = [
    { ok: true, result },
    { ok: false, error_code: 403, description: "Forbidden: bot was blocked by the user" },
    { ok: false, error_code: 400, description: "Bad Request: upgraded", parameters },
  ];
  for (const seed of seeds) {
    const body =
      seed % 20 === 0 ? "<html>502</html>" : JSON.stringify(mutated(answers[seed % 3], seed));
    server.answerWith("sendMessage", body);
    const sent = channel.sendConfirmation("42", workflowOf());
    const error = await errorOf(sent);
    expect([body, noise.test(error)]).toEqual([body, false]);
    if (error !== "no error") continue;
    const { ids, order } = await sent;
    expect(ids.every(isText)).toBe(true);
    expect([null, Number(ids.at(-1))]).toContain(order);
  }
});

const key = { remoteJid: "49@s.whatsapp.net", fromMe: false, id: "IN1" };
const groupKey = {
  remoteJid: "1-2@g.us",
  fromMe: false,
  id: "IN2",
  participant: "50@s.whatsapp.net",
};
const quoting = {
  stanzaId: "W1",
  participant: "491234567@s.whatsapp.net",
  mentionedJid: ["55@lid"],
};
const long = { low: 1_700_000_000, high: 0, unsigned: true };
const editing = { type: 14, key, editedMessage: { conversation: "no" } };

/** One message of each kind, as WhatsApp's client delivers it. */
const messages = [
  { key, message: { conversation: "watch my builds" }, messageTimestamp: 1_700_000_000 },
  {
    ...{ key: groupKey, messageTimestamp: long },
    message: { extendedTextMessage: { text: "@55 yes", contextInfo: quoting } },
  },
  {
    ...{ key, messageTimestamp: "1700000000" },
    message: { ephemeralMessage: { message: { extendedTextMessage: { text: "gone soon" } } } },
  },
  { key, message: { imageMessage: { caption: "this", mimetype: "x" } }, messageTimestamp: 1 },
  { key, message: { audioMessage: { ptt: true } }, messageTimestamp: 1 },
  {
    key,
    message: { editedMessage: { message: { protocolMessage: editing } } },
    messageTimestamp: 1,
  },
];

test("a message of WhatsApp with arbitrary fields is parsed or ignored", () => {
  const own = { ids: new Set(["491234567@s.whatsapp.net", "55@lid"]), hasSent: () => false };
  expect(messages.map((one) => readMessage(one, own)?.message)).toMatchObject([
    { text: "watch my builds", sender: "49@s.whatsapp.net", metadata: { order: 1_700_000_000 } },
    { text: "yes", sender: "50@s.whatsapp.net", replyTo: "W1", metadata: { order: 1_700_000_000 } },
    { text: "gone soon", metadata: { order: 1_700_000_000 } },
    { text: "", metadata: { unread: "picture" } },
    { text: "", metadata: { unread: "voice message" } },
    { text: "", metadata: { id: "edit IN1", unread: "edit" } },
  ]);
  for (const [at, message] of messages.entries()) {
    for (const seed of seeds) {
      const odd = mutated(message, seed * messages.length + at);
      const read = readMessage(odd, own);
      if (read) expect([odd, isText(read.jid) && isSound(read.message)]).toEqual([odd, true]);
    }
  }
});

test("messages are delivered between arbitrary other messages of WhatsApp's client", async () => {
  const client = whatsAppClient();
  const came: NewMessage[] = [];
  const lines: string[] = [];
  const channel = new WhatsAppChannel({
    ...{ authDir: "/nowhere", openSocket: client.openSocket, ackMs: 1, describe: () => "plan" },
    onMessage: (_, message) => void came.push(message),
    log: (line) => void lines.push(line),
    wait: () => Promise.resolve(),
  });
  ends.push(() => channel.disconnect());
  await channel.connect();
  const upsert = { type: "notify", messages };
  const update = { connection: "connecting", lastDisconnect: { error: null }, qr: "" };
  for (const seed of seeds) {
    client.emit("messages.upsert", mutated(upsert, seed));
    client.emit("connection.update", mutated(update, seed) as object);
    client.acknowledge(mutated({ attrs: { id: "W1", t: "1700000000" } }, seed));
    client.write("49@s.whatsapp.net", `sound ${seed}`);
  }
  const sound = came.filter(({ text }) => text.startsWith("sound"));
  expect([sound.length, came.every(isSound)]).toEqual([count, true]);
  expect(lines.filter((line) => noise.test(line))).toEqual([]);
});

test("messages from WhatsApp during a lost connection are read after it is restored", async () => {
  const client = whatsAppClient();
  const came: NewMessage[] = [];
  const channel = new WhatsAppChannel({
    ...{ authDir: "/nowhere", openSocket: client.openSocket, describe: () => "plan" },
    ...{ onMessage: (_, message) => void came.push(message), log: () => {} },
  });
  ends.push(() => channel.disconnect());
  await channel.connect();
  const own = { ...messages[0], key: { ...key, fromMe: true } };
  client.emit("messages.upsert", { type: "append", messages: [own, messages[0]] });
  expect(came).toMatchObject([{ text: "watch my builds", metadata: { isBacklog: true } }]);
});
