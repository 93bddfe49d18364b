import { afterEach, expect, test } from "bun:test";
import type { NewMessage } from "../../src/channel/channel.ts";
import { TelegramChannel } from "../../src/channel/telegram.ts";
import { planHash } from "../../src/plan/hash.ts";
import { botApi } from "./bot-api.ts";
import { errorOf, until, workflowOf } from "./contract.ts";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

async function begin({
  isConnected = true,
  wait,
}: {
  isConnected?: boolean;
  wait?: (ms: number) => Promise<void>;
} = {}) {
  const server = botApi();
  ends.push(() => server.stop());
  const came: { jid: string; message: NewMessage }[] = [];
  const lines: string[] = [];
  const channel = new TelegramChannel({
    ...{ token: server.token, apiRoot: server.url },
    onMessage: (jid, message) => void came.push({ jid, message }),
    describe: ({ name }) => name,
    log: (line) => void lines.push(line),
    ...(wait && { wait }),
  });
  ends.push(() => channel.disconnect());
  if (isConnected) await channel.connect();
  return { server, channel, came, lines };
}

test("a confirmation has buttons that return the plan and its hash", async () => {
  const { came, channel, server } = await begin();
  const workflow = workflowOf();
  await channel.sendConfirmation("42", workflow);
  const buttons = server.sent.at(-1)?.buttons ?? [];
  expect(buttons.map(({ text }) => text)).toEqual(["Confirm", "Modify", "Cancel"]);
  server.press(42, buttons[0]?.callback_data ?? "", 7);
  await until(() => server.answered.length > 0, "the answer");
  expect(came).toEqual([
    {
      jid: "42",
      message: {
        ...{ text: "", sender: "7" },
        metadata: {
          id: expect.any(String),
          button: {
            action: "confirm",
            workflowId: workflow.id,
            planHash: planHash(workflow).slice(0, 8),
          },
        },
      },
    },
  ]);
});

test.each([301, 302, 303, 307, 308])(
  "no message reaches another origin after a %i",
  async (status) => {
    const { server: other } = await begin({ isConnected: false });
    const own = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) =>
        new Response(null, { status, headers: { location: other.url + new URL(url).pathname } }),
    });
    ends.push(() => own.stop(true));
    const channel = new TelegramChannel({
      ...{ token: other.token, apiRoot: `http://127.0.0.1:${own.port}` },
      onMessage: () => undefined,
      describe: ({ name }) => name,
      log: () => undefined,
    });
    const error = await errorOf(channel.sendMessage("42", "hello"));
    expect(error).toContain(`127.0.0.1:${own.port} redirects to ${other.url}`);
    expect(error).not.toContain(other.token);
    expect(other.sent).toEqual([]);
  },
);

test("a press with invented data is acknowledged and not delivered", async () => {
  const { came, server } = await begin();
  const made = [
    "",
    "confirm",
    "confirm:wf_x",
    "drop:wf_x:12345678",
    "confirm:../x:12345678",
    "é🦉",
  ];
  for (const data of made) server.press(42, data);
  server.write(42, "end");
  await until(() => came.length > 0, "the message after the presses");
  expect(came.map(({ message }) => message.text)).toEqual(["end"]);
  expect(server.answered.map(({ text }) => text)).toEqual(
    made.map(() => "This button is not known."),
  );
});

test("a message with refused markup is sent again as plain text", async () => {
  const { channel, server } = await begin();
  const description = "Bad Request: can't parse entities: no";
  server.refuse({ method: "sendMessage", error_code: 400, description });
  const id = await channel.sendMessage("42", "**bold** and `code`");
  expect(server.sent).toMatchObject([{ text: "**bold** and `code`", isFormatted: false }]);
  server.refuse({ method: "editMessageText", error_code: 400, description });
  await channel.editMessage("42", id, "a.b");
  await channel.sendMessage("42", "**bold** and `code`\n```sh\nls *.ts\n```");
  expect(server.sent.map(({ text }) => text)).toEqual(["a.b", "bold and code\n\nls *.ts\n"]);
});

test("a rate-limited message is sent again after the requested delay", async () => {
  const { channel, server } = await begin();
  const description = "Too Many Requests: retry after 0";
  const parameters = { retry_after: 0 };
  for (let time = 0; time < 2; time += 1)
    server.refuse({ method: "sendMessage", error_code: 429, description, parameters });
  await channel.sendMessage("42", "patience");
  expect(server.sent.map(({ text }) => text)).toEqual(["patience"]);
  const long = { description, parameters: { retry_after: 3600 } };
  server.refuse({ method: "sendMessage", error_code: 429, ...long });
  expect(await errorOf(channel.sendMessage("42", "not now"))).toContain("429");
});

test("a failed poll is repeated, and a repeated update is confirmed once", async () => {
  const { came, server } = await begin();
  await until(() => server.offsets.length > 0, "the first poll");
  server.write(42, "one");
  await until(() => came.length > 0, "the message");
  await until(() => server.offsets.at(-1) === 2, "the confirmation of the update");
  expect(came).toHaveLength(1);
});

test("each consecutive failed poll doubles the wait, and an answered poll resets it", async () => {
  const waits: number[] = [];
  const wait = async (ms: number) => void waits.push(ms);
  const { came, server } = await begin({ wait });
  const conflict = { error_code: 409, description: "Conflict: another program polls" };
  const failing = async (times: number, sign: string) => {
    for (let n = 0; n < times; n += 1) server.refuse({ method: "getUpdates", ...conflict });
    // The open poll returns the message; the next poll is refused.
    server.write(42, sign);
    await until(() => came.at(-1)?.message.text === sign, sign);
    server.write(42, `${sign} again`);
    await until(() => came.at(-1)?.message.text === `${sign} again`, `${sign} again`);
  };
  await until(() => server.offsets.length > 0, "the first poll");
  await failing(3, "one");
  expect(waits).toEqual([1_000, 2_000, 4_000]);
  await failing(2, "two");
  expect(waits.slice(3)).toEqual([1_000, 2_000]);
});

test("a refused token is an error that names the setting and not the token", async () => {
  const { server } = await begin({ isConnected: false });
  const lines: string[] = [];
  const channel = new TelegramChannel({
    ...{ token: "99:wrong-token", apiRoot: server.url },
    ...{ onMessage: () => {}, describe: () => "", log: (line: string) => void lines.push(line) },
  });
  expect(await errorOf(channel.connect())).toContain("Telegram rejects telegram.token");
  expect(channel.isConnected()).toBe(false);
  expect(lines.join()).not.toContain("wrong-token");
});

test("an unreachable server is retried, and the wait can be ended", async () => {
  const { channel, server } = await begin({ isConnected: false });
  await server.stop();
  const connecting = channel.connect();
  const error = await channel.sendMessage("42", "x").catch((thrown: unknown) => thrown);
  expect(String(error)).not.toContain(server.token);
  await channel.disconnect();
  await connecting;
  expect(channel.isConnected()).toBe(false);
});
