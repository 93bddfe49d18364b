import { expect, test } from "bun:test";
import { homedir } from "node:os";
import { join } from "node:path";
import type { NewMessage } from "../../src/channel/channel.ts";
import { WhatsAppChannel, type WhatsAppOptions } from "../../src/channel/whatsapp.ts";
import { errorOf, until, workflowOf } from "./contract.ts";
import { whatsAppClient } from "./whatsapp-socket.ts";

function begin(more: Partial<WhatsAppOptions> = {}) {
  const client = whatsAppClient();
  const came: { jid: string; message: NewMessage }[] = [];
  const lines: string[] = [];
  const waits: number[] = [];
  const channel = new WhatsAppChannel({
    ...{ authDir: "~/wa", openSocket: client.openSocket },
    onMessage: (jid, message) => void came.push({ jid, message }),
    describe: ({ name }) => name,
    log: (line) => void lines.push(line),
    wait: (ms) => Promise.resolve(void waits.push(ms)),
    ...more,
  });
  return { channel, client, came, lines, waits };
}

const close = (statusCode: number) => ({
  connection: "close" as const,
  lastDisconnect: { error: Object.assign(new Error("closed"), { output: { statusCode } }) },
});

test("`~` in the credentials folder is the home directory", async () => {
  const { channel, client } = begin();
  await channel.connect();
  expect(client.folders).toEqual([join(homedir(), "wa")]);
  await channel.disconnect();
});

test("a lost connection is opened again, with growing delays, until one succeeds", async () => {
  let failures = 4;
  const made = begin({
    openSocket: (folder) =>
      (failures -= 1) >= 0
        ? Promise.reject(new Error("no network"))
        : made.client.openSocket(folder),
  });
  const { channel, client, lines, waits } = made;
  await channel.connect();
  expect(waits).toEqual([1000, 2000, 4000, 8000]);
  expect(lines.join()).toContain("no network");
  client.emit("connection.update", close(428));
  await until(() => channel.isConnected() && client.openings() === 2, "another connection");
  expect(waits.at(-1)).toBe(1000);
  client.emit("connection.update", close(515));
  await until(() => channel.isConnected() && client.openings() === 3, "the immediate reconnection");
  expect(waits).toHaveLength(5);
  await channel.disconnect();
});

test("a delay between two connections is at most five minutes", async () => {
  let failures = 12;
  const made = begin({
    openSocket: (folder) =>
      (failures -= 1) >= 0 ? Promise.reject(new Error("no")) : made.client.openSocket(folder),
  });
  await made.channel.connect();
  expect(Math.max(...made.waits)).toBe(300_000);
  await made.channel.disconnect();
});

test("an unlinked device does not connect again, and sends nothing", async () => {
  const { channel, client, lines, waits } = begin();
  await channel.connect();
  client.emit("connection.update", close(401));
  await until(() => lines.length > 0, "the line");
  expect(lines).toEqual([expect.stringContaining("no longer linked")]);
  expect({ openings: client.openings(), waits }).toEqual({ openings: 1, waits: [] });
  expect(await errorOf(channel.sendMessage("1@s.whatsapp.net", "x"))).toContain("is not connected");
});

test("a device is linked by a code, or an error names the missing setting", async () => {
  for (const phone of ["491234567", undefined]) {
    const { channel, client, lines } = begin({ ...(phone !== undefined && { phone }) });
    await channel.connect();
    client.emit("connection.update", { qr: "one" });
    client.emit("connection.update", { qr: "two" });
    await until(() => lines.length > 0, "the line");
    const expected = phone ? "enter CODE-4567 on the telephone" : "set whatsapp.phone";
    expect(lines).toEqual([expect.stringContaining(expected)]);
    await channel.disconnect();
  }
});

test("a sender is identified by telephone number, even in a group and with an anonymous id", async () => {
  const { came, channel, client } = begin();
  await channel.connect();
  client.write("49@s.whatsapp.net", "own", { fromMe: true });
  client.write("7@lid", "anonymous", { remoteJidAlt: "49:12@s.whatsapp.net" });
  const sent = await channel.sendMessage("1-2@g.us", "ours");
  const replyTo = { replyTo: sent };
  client.write("1-2@g.us", "group", { participant: "8@lid" }, replyTo);
  client.write("1-2@g.us", "device", { participant: "50:3@s.whatsapp.net" }, replyTo);
  expect(came.map(({ jid, message }) => [jid, message.sender, message.text])).toEqual([
    ["7@lid", "49@s.whatsapp.net", "anonymous"],
    ["1-2@g.us", "8@lid", "group"],
    ["1-2@g.us", "50@s.whatsapp.net", "device"],
  ]);
  client.emit("messages.upsert", { type: "append", messages: [] });
  await channel.sendConfirmation("49@s.whatsapp.net", workflowOf());
  expect(client.sent.at(-1)?.text).toContain("Answer yes, no or modify");
  await channel.disconnect();
});

test("in a group the channel delivers only its mentions and the replies to it", async () => {
  const { came, channel, client } = begin();
  await channel.connect();
  const group = "1-2@g.us";
  const sent = await channel.sendMessage(group, "ours");
  const write = (text: string, contextInfo: object = {}) => {
    const key = { remoteJid: group, participant: "49@s.whatsapp.net", fromMe: false, id: text };
    const message = { extendedTextMessage: { text, contextInfo } };
    const received = { key, message, messageTimestamp: 1_700_000_100 };
    client.emit("messages.upsert", { type: "notify", messages: [received] });
  };
  write("yes");
  write("/delete wf_1");
  write("yes to you", { stanzaId: "IN1", participant: "50@s.whatsapp.net" });
  write("@51 go", { mentionedJid: ["51@s.whatsapp.net"] });
  write("yes to that", { stanzaId: sent, participant: "491234567@s.whatsapp.net" });
  write("@491234567 go", { mentionedJid: ["491234567@s.whatsapp.net"] });
  write("go @55", { mentionedJid: ["55@lid"] });
  expect(came.map(({ message }) => message.text)).toEqual(["yes to that", "go", "go"]);
  await channel.disconnect();
});

test("a question's place is the server time of its last message", async () => {
  const { came, channel, client, lines } = begin({ ackMs: 20 });
  await channel.connect();
  const jid = "49@s.whatsapp.net";
  const asked = await channel.sendQuestion(jid, "long ".repeat(2_000));
  expect(asked.ids).toEqual(client.sent.map(({ id }) => id));
  expect(asked.ids.length).toBeGreaterThan(1);
  client.write(jid, "early", {}, { at: asked.order ?? 0 });
  client.write(jid, "late", {}, { replyTo: asked.ids[0] ?? "" });
  const [early, late] = came.map(({ message }) => message);
  expect(early?.metadata?.order).toBe(asked.order as number);
  expect(late?.metadata?.order).toBe((asked.order ?? 0) + 1);
  expect(late?.replyTo).toBe(asked.ids[0]);
  client.silence.acks = true;
  expect(await channel.sendConfirmation(jid, workflowOf())).toMatchObject({ order: null });
  expect(lines.join()).toContain("was not acknowledged");
  await channel.disconnect();
});
