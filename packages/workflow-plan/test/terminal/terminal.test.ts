import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { removeStores } from "../../../workflow/test/fixtures/store.ts";
import { Planner } from "../../src/entry/index.ts";
import {
  type CueclawConfig,
  type DaemonBridge,
  openMessaging,
  runTerminalChat,
} from "../../src/entry/service.ts";
import { findCommand, getCommands, registerCommand } from "../../src/terminal/commands.ts";
import { planHash } from "../../src/plan/hash.ts";
import { completed } from "../../src/terminal/terminal.ts";
import { linesOf } from "../../src/terminal/message.ts";
import { botApi } from "../channel/bot-api.ts";
import { until } from "../channel/contract.ts";
import { cron, does, hello, TestHome, workflow } from "../home.ts";
import { plan } from "../parts.ts";
import { ask, create } from "../router/chat.ts";

setDefaultTimeout(60_000);
afterEach(removeStores);
const program = fileURLToPath(new URL("./chat.ts", import.meta.url));

/** Returns a terminal chat in which a test types. */
function typing(
  home: TestHome,
  {
    bridge = null,
    telegram,
  }: { bridge?: DaemonBridge | null; telegram?: CueclawConfig["telegram"] } = {},
) {
  const whatsapp = { enabled: false, allowed_jids: [] };
  const config = telegram ? { telegram, whatsapp } : null;
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  let shown = "";
  output.on("data", (chunk: Buffer) => (shown += chunk.toString()));
  const { host, plans } = home;
  const ended = runTerminalChat({
    ...{ plans, config: null, cwd: home.store.folder, bridge, hasModel: false, input, output },
    open: (terminal) =>
      openMessaging({
        ...{ plans, host, config, terminal, describe: ({ name }) => name, log: () => {} },
        skipBots: true,
        planner: (context) => new Planner({ env: {}, context }),
      }),
  });
  const type = async (line: string, answer: string) => {
    const before = shown.length;
    input.write(`${line}\r`);
    await until(() => shown.slice(before).includes(answer), `${answer} in ${shown.slice(before)}`);
  };
  return { ended, type, shown: () => shown };
}

/** Runs a chat in its own process with a pipe as input. Returns the lines that it shows. */
async function piped(home: TestHome, replies: object[], lines: string[]): Promise<string[]> {
  const { root } = home.store;
  writeFileSync(join(root, "replies.json"), JSON.stringify(replies));
  const chat = Bun.spawn([process.execPath, program, root], {
    stdin: new Blob([lines.join("\n")]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, errors, code] = await Promise.all([
    new Response(chat.stdout).text(),
    new Response(chat.stderr).text(),
    chat.exited,
  ]);
  expect([errors, code]).toEqual(["", 0]);
  return text.split("\n");
}

test("a chat with a pipe as input answers every line, and only its hash confirms a plan", async () => {
  const home = new TestHome();
  const replies = [ask("Which one?"), create(hello({ name: "Greeting", trigger: cron }))];
  const words = ["y", "yes", "approve", "1", "no", "modify"];
  const lines = ["greet a guest", "the first", ...words, "/list", "/nothing", ""];
  const shown = await piped(home, replies, lines);
  const [made] = await home.plans.list();
  if (!made) throw new Error("no plan found");
  const { id } = made;
  const hash = planHash(made).slice(0, 8);
  const refused = `The time of your message is unknown here, so it decides nothing. Greeting is not confirmed. Confirm it with /confirm ${hash}. /show ${id} shows it.`;
  expect(shown).toEqual([
    "Write a request. /help lists the commands, /exit ends the chat.",
    ...["> greet a guest", "Planning…", "Which one?"],
    ...["> the first", "Planning…", "The plan is ready.", "Greeting", "Do it."],
    `Greeting: confirm it with /confirm ${hash}`,
    ...words.flatMap((word) => [`> ${word}`, refused]),
    ...["> /list", `${id.slice(0, 9)}  awaiting_confirmation  Greeting`],
    ...["> /nothing", "unknown command /nothing; /help lists them", ""],
  ]);
  const asked = await piped(home, [], [`/confirm ${id}`]);
  expect(asked).toContain(`Greeting: confirm it with /confirm ${hash}`);
  expect(home.plans.get(id).phase).toBe("awaiting_confirmation");
  expect(await piped(home, [], [`/confirm ${hash}`])).toContain("Confirmed: Greeting is active.");
});

/** Starts a chat in its own process at a terminal, with a planner that has one plan. */
function atTerminal(home: TestHome, env: Record<string, string> = {}) {
  const { root } = home.store;
  writeFileSync(join(root, "replies.json"), JSON.stringify([create(hello({ trigger: cron }))]));
  let shown = "";
  const chat = Bun.spawn([process.execPath, program, root], {
    env: { ...process.env, ...env },
    terminal: { cols: 200, rows: 50, data: (_, bytes) => void (shown += bytes.toString()) },
  });
  const sees = (text: string, times = 1) =>
    until(() => shown.split(text).length > times, `${text} in ${shown}`);
  return { chat, sees, type: (keys: string) => void chat.terminal?.write(keys) };
}

test("at a terminal a line that was started before the plan was shown does not confirm it", async () => {
  const home = new TestHome();
  const gate = join(home.store.folder, "described");
  const { chat, sees, type } = atTerminal(home, { GATE: gate });
  await sees("> ");
  type("go\ryes\r");
  // The chat is busy: these keys wait in the terminal until the plan is shown.
  await sees("describing");
  type("yes\ry");
  writeFileSync(gate, "");
  await sees("[Y]es");
  // The terminal shows the letter, with the cursor after it.
  await sees("> y\x1b[4G");
  type("es\r");
  // Three lines: one sent with the request, one waiting in the terminal, and one started before the question.
  await sees("You wrote this before the question was asked. A plan is not confirmed.", 3);
  const [{ id, phase } = { id: "", phase: "" }] = await home.plans.list();
  expect(phase).toBe("awaiting_confirmation");
  type("/list\r");
  await sees("  awaiting_confirmation  ");
  expect(home.plans.get(id).phase).toBe("awaiting_confirmation");
  type("no, y\x15yes\r");
  await sees("Confirmed: A plan is active.");
  type("/exit\r");
  expect(await chat.exited).toBe(0);
});

test("at a terminal a run is shown step by step, and its end with its output", async () => {
  const home = new TestHome();
  const owner = { channel: "tui" };
  const steps = [does("first", "say one"), does("last", "say two", ["first"])];
  await home.plans.create(workflow(plan(steps), { id: "wf_mine", metadata: { owner } }));
  const { ended, shown, type } = typing(home);
  await type("/show wf_mine", "[Y]es");
  await type("y", "said two");
  await until(() => shown().includes("last: succeeded"), "the last step");
  expect(shown()).toContain("first: succeeded");
  expect(shown()).toContain("The planner has no model: set ANTHROPIC_API_KEY.");
  await type("/execution wf_mine", "last: succeeded");
  await type("/execution nothing", 'no plan "nothing" found');
  await type("/exit", "");
  await ended;
});

test("the arguments of a command are completed", () => {
  expect(completed("/bo")).toEqual([["/bot"], "/bo"]);
  expect(completed("/bot st")).toEqual([["start", "status"], "st"]);
  expect(completed("/answer wf_1 s")).toEqual([["skip"], "s"]);
  expect(completed("/show wf_1 ")).toEqual([[], "/show wf_1 "]);
});

test("a chat serves the bots after they are started there", async () => {
  const server = botApi();
  const bridge = { triggerLoop: null, router: null, botChannels: [], isExternal: false };
  const telegram = { enabled: true, token: server.token, allowed_users: [], api_root: server.url };
  const { ended, type } = typing(new TestHome(), { bridge, telegram });
  await type("/bot", "No bots are served here.");
  expect(server.offsets).toEqual([]);
  await type("/bot start", "telegram");
  await until(() => server.offsets.length > 0, "a poll");
  await type("/bot status", "telegram");
  await type("/exit", "");
  await ended;
  await server.stop();
});

test("the views of a terminal are commands, and a service in another process is named", async () => {
  const bridge: DaemonBridge = {
    ...{ triggerLoop: null, router: null, botChannels: [], isExternal: true },
  };
  const { ended, type } = typing(new TestHome(), { bridge });
  await type("/bot", "A service fires the triggers and serves the bots.");
  await type("/bot stop", "use start or status");
  await type("/setup", "not set: telegram.token");
  await type("/theme", "> ");
  await type("?", "There is no plan");
  await type("/help", "/execution [ID]");
  await type("/quit", "");
  await ended;
});

test("a slow refresh ends before the next refresh starts", async () => {
  const home = new TestHome();
  const { host, plans } = home;
  const [input, output] = [new PassThrough(), new PassThrough()];
  output.resume();
  const seen = { begun: 0, atOnce: 0, most: 0 };
  const { promise: gate, resolve: open } = Promise.withResolvers<void>();
  const ended = runTerminalChat({
    ...{ plans, config: null, cwd: home.store.folder, bridge: null, hasModel: true, input, output },
    async open(terminal) {
      const given = { plans, host, config: null, terminal, describe: () => "", log: () => {} };
      const messaging = await openMessaging({
        ...given,
        planner: (context) => new Planner({ env: {}, context }),
      });
      const send = messaging.notices.send.bind(messaging.notices);
      messaging.notices.send = async () => {
        seen.begun += 1;
        seen.atOnce += 1;
        seen.most = Math.max(seen.most, seen.atOnce);
        // The first refresh happens at the start. The second refresh lasts three intervals.
        if (seen.begun === 2) await gate;
        await send();
        seen.atOnce -= 1;
      };
      return messaging;
    },
  });
  await until(() => seen.begun >= 2, "a look");
  const begun = performance.now();
  await until(() => performance.now() - begun > 1_600, "three refresh intervals");
  open();
  await until(() => seen.begun >= 4, "further looks");
  expect(seen.most).toBe(1);
  input.end();
  await ended;
});

describe("the commands of the terminal", () => {
  test("are found by their names and aliases, and all are listed", () => {
    expect(findCommand("ls")?.name).toBe("list");
    expect(findCommand("detail")?.name).toBe("show");
    expect(findCommand("nothing")).toBeUndefined();
    const names = getCommands().flatMap(({ aliases, name }) => [name, ...aliases]);
    expect(new Set(names).size).toBe(names.length);
  });

  test("a name that is in use is refused", () => {
    const command = { name: "other", aliases: ["ls"], description: "", usage: "" };
    expect(() => registerCommand({ ...command, execute: () => {} })).toThrow("/ls already");
  });
});

test("a message cannot change the terminal that shows it", () => {
  const text = "\x1b[2Jred\x07\u009b31m **bold**";
  expect(linesOf({ type: "assistant", text }, false)).toEqual(["[2Jred31m bold"]);
  expect(linesOf({ type: "error", text: "broken" }, true)).toEqual(["\x1b[31mbroken\x1b[0m"]);
  const content = [
    ["a", "é🦉", "c"],
    ["long", "b", "d"],
  ];
  expect(linesOf({ type: "assistant-jsx", content }, false)).toEqual([
    "a     é🦉  c",
    "long  b    d",
  ]);
});
