import { afterAll, expect, test } from "bun:test";
import { TelegramChannel } from "../../src/channel/telegram.ts";
import { TerminalChannel } from "../../src/channel/terminal.ts";
import { WhatsAppChannel } from "../../src/channel/whatsapp.ts";
import { botApi } from "./bot-api.ts";
import { channelContract, type Shown } from "./contract.ts";
import { type WhatsAppMessage, whatsAppClient } from "./whatsapp-socket.ts";

const servers: ReturnType<typeof botApi>[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop())));

channelContract("terminal", async (options) => {
  const shown: Shown[] = [];
  const channel = new TerminalChannel({
    ...options,
    show: (message) =>
      shown.push({
        ...{ id: "", chat: "local", edits: [] },
        text: message.type === "assistant" ? message.text : `${message.workflowName}: Y/M/N`,
      }),
  });
  await channel.connect();
  const write = (text: string | null, { sender }: { sender?: null } = {}) => {
    if (text !== null && sender !== null) channel.receive(text);
  };
  const longest = Number.POSITIVE_INFINITY;
  const more = { refuse: null, writeAgain: () => {} };
  return { channel, jid: "local", longest, shown: () => shown, write, ...more };
});

channelContract("telegram", async (options) => {
  const server = botApi();
  servers.push(server);
  const channel = new TelegramChannel({ ...options, token: server.token, apiRoot: server.url });
  await channel.connect();
  let last: Record<string, unknown> = {};
  return {
    ...{ channel, jid: "42", longest: 4096 },
    shown: () => server.sent.map((one) => ({ ...one, id: String(one.id) })),
    write: (text, { sender } = {}) => {
      last = server.write(42, text, sender === null ? null : 7);
    },
    writeAgain: () => void server.push(last),
    refuse: () =>
      server.refuse({ method: "sendMessage", error_code: 403, description: "Forbidden: blocked" }),
  };
});

channelContract("whatsapp", async (options) => {
  const client = whatsAppClient();
  const { openSocket } = client;
  const channel = new WhatsAppChannel({ ...options, authDir: "~/wa", openSocket });
  await channel.connect();
  const jid = "491234@s.whatsapp.net";
  let last: WhatsAppMessage | null = null;
  return {
    ...{ channel, jid, longest: 4096, shown: () => client.sent },
    write: (text, { sender } = {}) => {
      const key = sender === null ? { remoteJid: "1-2@g.us", participant: null } : {};
      last = client.write(jid, text, key);
    },
    writeAgain: () => {
      if (last) client.emit("messages.upsert", { type: "notify", messages: [last] });
    },
    refuse: () => void client.refused.push("not sent"),
  };
});

test("no channel accepts the ids of another channel", () => {
  const options = { onMessage: () => {}, describe: () => "", log: () => {} };
  const channels = [
    new TerminalChannel({ ...options, show: () => {} }),
    new TelegramChannel({ ...options, token: "1:x" }),
    new WhatsAppChannel({ ...options, authDir: "x", openSocket: whatsAppClient().openSocket }),
  ];
  for (const jid of ["local", "42", "-100", "1@s.whatsapp.net", "1-2@g.us", "9@lid"])
    expect(channels.filter((channel) => channel.ownsJid(jid))).toHaveLength(1);
});
