import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { anthropicServer } from "../../../workflow-agents/test/anthropic-server.ts";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import type { Channel } from "../../src/channel/channel.ts";
import { TelegramChannel } from "../../src/channel/telegram.ts";
import { TerminalChannel } from "../../src/channel/terminal.ts";
import { WhatsAppChannel } from "../../src/channel/whatsapp.ts";
import { Planner } from "../../src/index.ts";
import { Notices } from "../../src/router/notices.ts";
import { Router } from "../../src/router/router.ts";
import { botApi } from "../channel/bot-api.ts";
import { until } from "../channel/contract.ts";
import { whatsAppClient } from "../channel/whatsapp-socket.ts";
import { does, TestHome } from "../home.ts";
import { plan } from "../parts.ts";
import { ask, create } from "./chat.ts";

/* One router with a terminal, a Telegram bot and a WhatsApp device: the same words do the same by each of them. */
setDefaultTimeout(60_000);
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  await removeStores();
});

/** A user of one of the channels: what was written to it, and what it has shown. */
type User = {
  channel: Channel;
  owner: { channel: string; chatJid?: string; sender?: string };
  write: (text: string) => void;
  shown: () => string[];
};

async function everywhere() {
  const home = new TestHome();
  const { host, plans } = home;
  const replies = [
    ask("Which one?"),
    create(plan([does("first", "say it")])),
    create(plan([does("first", "say it"), does("bad", "fail-once", ["first"])])),
  ];
  const model = await anthropicServer((_, nth) => replies[nth % replies.length] ?? {});
  const env = { ANTHROPIC_API_KEY: model.key, ANTHROPIC_BASE_URL: model.url };
  const [server, client, terminal] = [botApi(), whatsAppClient(), [] as string[]];
  const jid = "491234@s.whatsapp.net";
  const lines: string[] = [];
  const router = new Router({
    ...{ plans, log: (line) => void lines.push(line) },
    planner: (context) =>
      new Planner({ env, context, folder: plans.folder, secrets: plans.secrets }),
    allowed: { telegram: ["7"], whatsapp: [jid] },
  });
  const options = {
    ...{ onMessage: router.onMessage, log: (line: string) => void lines.push(line) },
    describe: ({ name, steps }: { name: string; steps: object[] }) => `${name}: ${steps.length}`,
  };
  const { token, url } = server;
  const { openSocket } = client;
  const local = new TerminalChannel({
    ...{ ...options, allTyped: () => Promise.resolve() },
    show: (message) => void (message.type === "assistant" && terminal.push(message.text)),
  });
  const users: User[] = [
    {
      ...{ channel: local, owner: { channel: "tui" }, shown: () => terminal },
      write: (text) => local.receive(text, local.place()),
    },
    {
      channel: new TelegramChannel({ ...options, token, apiRoot: url }),
      owner: { channel: "telegram", chatJid: "42", sender: "7" },
      write: (text) => void server.write(42, text, 7),
      shown: () => server.sent.map(({ text }) => text),
    },
    {
      channel: new WhatsAppChannel({ ...options, authDir: "~/wa", openSocket }),
      owner: { channel: "whatsapp", chatJid: jid, sender: jid },
      write: (text) => void client.write(jid, text),
      shown: () => client.sent.map(({ text }) => text),
    },
  ];
  for (const { channel } of users) {
    router.add(channel);
    await channel.connect();
    await until(() => channel.isConnected(), channel.name);
  }
  const { channels } = router;
  const notices = new Notices({ plans, host, channels: () => channels, log: options.log });
  ends.push(async () => {
    await Promise.all(channels.map((channel) => channel.disconnect()));
    await router.idle();
    await Promise.all([server.stop(), model.stop()]);
  });
  return { home, plans, users, router, notices, lines, server, client };
}

/** What a user reads in the end: what can be edited shows no progress, and buttons are a line of text elsewhere. */
const read = (texts: readonly string[]): string[] =>
  texts
    .filter((text) => text !== "Planning…" && text !== "The planner has answered.")
    .map((text) => text.replace(/\n\nAnswer yes, no or modify.*$/s, ""));

test("the same conversation leads to the same by every channel, and each owner alone has the notices", async () => {
  const { client, home, lines, notices, plans, router, server, users } = await everywhere();
  const dialogue = [
    ["look at it", ["Which one?"]],
    ["the first", ["The plan is ready.", "A plan: 1"]],
    ["and break it", ["The plan is ready.", "A plan: 2"]],
    ["yes", [expect.stringMatching(/^Confirmed: A plan runs now \(run_\w+\)\.$/)]],
  ] as const;
  for (const { owner, shown, write } of users) {
    const others = () => users.flatMap((user) => (user.shown === shown ? [] : user.shown()));
    const before = others();
    for (const [text, expected] of dialogue) {
      const already = read(shown()).length;
      write(text);
      await until(
        () => read(shown()).length >= already + expected.length,
        `${text}: ${JSON.stringify([shown(), lines])}`,
      );
      await router.idle();
      expect(read(shown()).slice(already)).toEqual([...expected]);
    }
    const [made] = await plans.list();
    expect(made?.metadata?.owner).toEqual(owner as never);
    const id = made?.id ?? "";
    expect((await home.ended(id)).phase).toBe("failed");
    await notices.send();
    expect(read(shown()).at(-1)).toContain(`Do again what has failed with /retry ${id}.`);
    expect(others()).toEqual(before);
    write(`/delete ${id}`);
    await until(() => shown().at(-1) === "A plan was removed.", "it is removed");
  }
  const sent = [server.sent.length, client.sent.length];
  client.write("499999@s.whatsapp.net", "/list");
  client.write("1-2@g.us", "/list", { participant: "499999@s.whatsapp.net" });
  server.write(43, "/list", 8);
  await until(() => lines.filter((line) => line.includes("may not write")).length === 3, "refused");
  await router.idle();
  expect([server.sent.length, client.sent.length]).toEqual(sent);
});
